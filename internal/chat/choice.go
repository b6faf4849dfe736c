package chat

// choiceDepth is how deep a tool_choice of unknown shape is searched for names.
const choiceDepth = 6

// readChoice fills in Choice and ChoiceNames. Known are a word, an object with a word for its type,
// a function named flat or nested, and a list of allowed tools. Of any other shape the names are
// taken, so that they stay visible, and the choice is Auto.
func (r *Request) readChoice(body []byte, choice span) {
	if choice.isString(body) {
		word := choice.text(body)
		var known bool
		if r.Choice, known = choiceOf(word); !known && word != "" {
			r.ChoiceNames = []string{word}
		}
		return
	}
	if !choice.isObject(body) && !choice.isArray(body) {
		return
	}
	r.collectNames(body, choice, choiceDepth)
	if !choice.isObject(body) {
		return
	}
	var kind, mode span
	eachField(body, choice.start, func(key []byte, value span) bool {
		switch string(key) {
		case "type":
			kind = value
		case "mode":
			mode = value
		case "allowed_tools":
			if value.isObject(body) {
				mode = fieldOf(body, value, "mode")
			}
		}
		return true
	})
	var known bool
	if r.Choice, known = choiceOf(kind.text(body)); known {
		return
	}
	switch kind.text(body) {
	case "function", "tool", "custom", "allowed_tools", "":
		if len(r.ChoiceNames) > 0 {
			r.Choice = Named
			return
		}
		r.Choice, _ = choiceOf(mode.text(body))
	}
}

func choiceOf(word string) (Choice, bool) {
	switch word {
	case "auto":
		return Auto, true
	case "none":
		return NoTools, true
	case "required", "any":
		return Required, true
	}
	return Auto, false
}

// collectNames adds every "name" that is a string, at most depth levels down. Each level passes over the
// value once more.
func (r *Request) collectNames(body []byte, value span, depth int) {
	switch {
	case depth == 0 || len(r.ChoiceNames) >= maxElements:
	case value.isArray(body):
		eachElement(body, value.start, func(element span) bool {
			r.collectNames(body, element, depth-1)
			return true
		})
	case value.isObject(body):
		eachField(body, value.start, func(key []byte, member span) bool {
			if name := member.text(body); string(key) == "name" && name != "" {
				r.ChoiceNames = append(r.ChoiceNames, name)
			}
			r.collectNames(body, member, depth-1)
			return true
		})
	}
}
