package chat

// told notes a call that is told whole, or once more, and returns its index in all, -1 where there are too many.
func (c *calls) told(index int, id, name string) int {
	if len(id) > maxIDSize {
		id = id[:maxIDSize]
	}
	at := -1
	for i := range c.all {
		if b := &c.all[i]; b.id == id && (id != "" || b.index == index && string(b.name) == name) {
			at = i
			break
		}
	}
	if at < 0 && len(c.all) < maxCalls {
		at = len(c.all)
		c.all = append(c.all, building{index: index, id: id})
	}
	if c.traced {
		c.trace = append(c.trace, at)
	}
	if at >= 0 && len(c.all[at].name) == 0 {
		c.all[at].join(name)
	}
	return at
}

// took notes the whole arguments of a call that was told; at is its index in all, below 0 for none.
func (c *calls) took(at int, arguments []byte) {
	if at < 0 || !isObject(arguments) || len(memberNames(arguments, span{skipSpace(arguments, 0), len(arguments)})) == 0 {
		return // an empty object stands at the beginning of a stream's
	}
	b := &c.all[at]
	b.raw, b.tooMuch = nil, false
	b.keep(arguments)
}

// grew notes a piece of the arguments of the latest call that was told with this index.
func (c *calls) grew(index int, piece []byte) {
	for i := len(c.all) - 1; i >= 0; i-- {
		if c.all[i].index == index {
			c.all[i].keep(piece)
			return
		}
	}
}

// responsesEvent is where things stand in an event of OpenAI's Responses, or in a plain answer, which is its response.
type responsesEvent struct {
	kind                                                 string
	sequence, index, itemID, item, response, delta, full span // full: the arguments or the text
	failed, timings                                      span
}

func readResponses(b []byte, at int) (e responsesEvent) {
	plain := false
	eachField(b, at, func(key []byte, value span) bool {
		switch string(key) {
		case "type":
			e.kind = value.text(b)
		case "object":
			plain = value.text(b) == "response"
		case "output":
			plain = plain || value.isArray(b)
		case "sequence_number":
			e.sequence = value
		case "output_index":
			e.index = value
		case "item_id":
			e.itemID = value
		case "item":
			e.item = value
		case "response":
			e.response = value
		case "delta":
			e.delta = value
		case "arguments", "text":
			e.full = value
		case "error":
			e.failed = value
		case "timings":
			e.timings = value
		}
		return true
	})
	if plain && e.response.end == 0 {
		e.response = span{at, skipValue(b, at)}
	}
	return e
}

// responsesItem is where things stand in one item of the output.
type responsesItem struct {
	at                                           span
	kind                                         string
	id, callID, name, arguments, status, content span
}

func readItem(b []byte, at span) responsesItem {
	i := responsesItem{at: at}
	eachField(b, at.start, func(key []byte, value span) bool {
		switch string(key) {
		case "type":
			i.kind = value.text(b)
		case "id":
			i.id = value
		case "call_id":
			i.callID = value
		case "name":
			i.name = value
		case "arguments":
			i.arguments = value
		case "status":
			i.status = value
		case "content":
			i.content = value
		}
		return true
	})
	return i
}

// responsesObject is where things stand in a response.
type responsesObject struct {
	at                                         span
	id, created, status, output, usage, failed span
	tools, choice, previous                    span
}

func readResponse(b []byte, at span) responsesObject {
	o := responsesObject{at: at}
	eachField(b, at.start, func(key []byte, value span) bool {
		switch string(key) {
		case "id":
			o.id = value
		case "created_at":
			o.created = value
		case "status":
			o.status = value
		case "output":
			o.output = value
		case "usage":
			o.usage = value
		case "error":
			o.failed = value
		case "tools":
			o.tools = value
		case "tool_choice":
			o.choice = value
		case "previous_response_id":
			o.previous = value
		}
		return true
	})
	return o
}

func (s *Scanner) observeResponses(b []byte, at int) {
	e := readResponses(b, at)
	s.usage.Failed = s.usage.Failed || e.kind == "error" || !e.failed.isAbsent(b)
	if e.item.isObject(b) {
		s.observeItem(b, e.item, number(b, e.index, 0))
	}
	if e.timings.isObject(b) {
		s.observeTimings(b, e.timings)
	}
	if !e.response.isObject(b) {
		return
	}
	o := readResponse(b, e.response)
	if id := o.id.text(b); id != "" && len(id) <= maxIDSize {
		s.id = id
	}
	if o.usage.isObject(b) {
		s.observeTokens(b, o.usage)
	}
	switch o.status.text(b) {
	case "completed":
		s.usage.Done = true
	case "incomplete":
		s.usage.Done, s.usage.Cut = true, true
	case "failed":
		s.usage.Failed = true
	}
	s.usage.Failed = s.usage.Failed || !o.failed.isAbsent(b)
	if o.output.isArray(b) {
		n := 0
		eachElement(b, o.output.start, func(item span) bool {
			if item.isObject(b) {
				s.observeItem(b, item, n)
			}
			n++
			return true
		})
	}
}

func (s *Scanner) observeItem(b []byte, item span, index int) {
	if i := readItem(b, item); i.kind == "function_call" {
		at := s.calls.told(index, i.callID.text(b), i.name.text(b))
		if i.arguments.isString(b) && i.arguments.end-i.arguments.start > len(`""`) {
			s.calls.took(at, unquote(i.arguments.of(b)))
		}
	}
}

// observeTokens reads a usage object of Responses or of Anthropic, which counts cached tokens apart.
func (s *Scanner) observeTokens(b []byte, usage span) {
	input, cached, made := -1, 0, 0
	eachField(b, usage.start, func(key []byte, value span) bool {
		switch string(key) {
		case "input_tokens":
			input = number(b, value, -1)
		case "output_tokens":
			s.usage.OutputTokens = number(b, value, s.usage.OutputTokens)
		case "cache_read_input_tokens":
			cached = number(b, value, 0)
		case "cache_creation_input_tokens":
			made = number(b, value, 0)
		case "input_tokens_details":
			if value.isObject(b) {
				s.usage.CachedTokens = number(b, fieldOf(b, value, "cached_tokens"), s.usage.CachedTokens)
			}
		}
		return true
	})
	if cached > 0 {
		s.usage.CachedTokens = cached
	}
	if input >= 0 {
		s.usage.PromptTokens = input + cached + made
	}
}

// anthropicEvent is where things stand in an event of Anthropic's, or in a plain answer, which is its message.
type anthropicEvent struct {
	kind                                        string
	index, block, delta, usage, message, failed span
	text, thinking, partial, deltaKind, stop    span // of the delta
}

func readAnthropic(b []byte, at int) (e anthropicEvent) {
	eachField(b, at, func(key []byte, value span) bool {
		switch string(key) {
		case "type":
			e.kind = value.text(b)
		case "index":
			e.index = value
		case "content_block":
			e.block = value
		case "delta":
			e.delta = value
		case "usage":
			e.usage = value
		case "message":
			e.message = value
		case "error":
			e.failed = value
		}
		return true
	})
	if e.kind == "message" {
		e.message = span{at, skipValue(b, at)}
	}
	if e.delta.isObject(b) {
		eachField(b, e.delta.start, func(key []byte, value span) bool {
			switch string(key) {
			case "type":
				e.deltaKind = value
			case "text":
				e.text = value
			case "thinking":
				e.thinking = value
			case "partial_json":
				e.partial = value
			case "stop_reason":
				e.stop = value
			}
			return true
		})
	}
	return e
}

// anthropicBlock is where things stand in a block of content.
type anthropicBlock struct {
	at                              span
	kind                            string
	id, name, input, text, thinking span
}

func readContentBlock(b []byte, at span) anthropicBlock {
	k := anthropicBlock{at: at}
	eachField(b, at.start, func(key []byte, value span) bool {
		switch string(key) {
		case "type":
			k.kind = value.text(b)
		case "id":
			k.id = value
		case "name":
			k.name = value
		case "input":
			k.input = value
		case "text":
			k.text = value
		case "thinking":
			k.thinking = value
		}
		return true
	})
	return k
}

// cutShort is the stop_reason of an answer that ended at its limit of tokens.
const cutShort = "max_tokens"

func (s *Scanner) observeAnthropic(b []byte, at int) {
	e := readAnthropic(b, at)
	s.usage.Failed = s.usage.Failed || e.kind == "error" || !e.failed.isAbsent(b)
	s.usage.Done = s.usage.Done || e.kind == "message_stop" || e.stop.isString(b)
	s.usage.Cut = s.usage.Cut || e.stop.text(b) == cutShort
	if e.usage.isObject(b) {
		s.observeTokens(b, e.usage)
	}
	if e.block.isObject(b) {
		s.observeBlock(b, e.block, number(b, e.index, 0))
	}
	if e.partial.isString(b) {
		s.calls.grew(number(b, e.index, 0), unquote(e.partial.of(b)))
	}
	if !e.message.isObject(b) {
		return
	}
	eachField(b, e.message.start, func(key []byte, value span) bool {
		switch string(key) {
		case "usage":
			if value.isObject(b) {
				s.observeTokens(b, value)
			}
		case "stop_reason":
			s.usage.Done = s.usage.Done || value.isString(b)
			s.usage.Cut = s.usage.Cut || value.text(b) == cutShort
		case "content":
			if value.isArray(b) {
				n := 0
				eachElement(b, value.start, func(block span) bool {
					if block.isObject(b) {
						s.observeBlock(b, block, n)
					}
					n++
					return true
				})
			}
		}
		return true
	})
}

func (s *Scanner) observeBlock(b []byte, block span, index int) {
	if k := readContentBlock(b, block); k.kind == "tool_use" {
		at := s.calls.told(index, k.id.text(b), k.name.text(b))
		if k.input.isObject(b) {
			s.calls.took(at, k.input.of(b))
		}
	}
}
