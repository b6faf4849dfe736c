package chat

// Render returns body with its tools array replaced by those elements whose keys are in order, in that order, each
// as the client wrote it, with "," between them; all elements of one key (twins) stand together in the client's order. r must be what Decode read from this body.
// Keys that the request lacks, and a key's second mention, are skipped. Every byte outside the
// array's brackets is the client's.
//
// The very slice body is returned where nothing changes: the same elements in the same order, no tools array, or
// nothing left of it (an array is never emptied). Otherwise the result is one new allocation.
func Render(body []byte, r *Request, order []string) []byte {
	if len(r.Elements) == 0 || r.ToolsStart >= r.ToolsEnd || r.ToolsEnd > len(body) {
		return body
	}
	kept, _ := arrange(r.Elements, order)
	if len(kept) == 0 || len(kept) == len(r.Elements) && ascending(kept) {
		return body
	}
	size := r.ToolsStart + 1 + len(body) - r.ToolsEnd + 1
	for _, i := range kept {
		size += r.Elements[i].End - r.Elements[i].Start + 1
	}
	out := make([]byte, 0, size)
	out = append(out, body[:r.ToolsStart]...)
	out = append(out, '[')
	for n, i := range kept {
		if n > 0 {
			out = append(out, ',')
		}
		out = append(out, body[r.Elements[i].Start:r.Elements[i].End]...)
	}
	out = append(out, ']')
	return append(out, body[r.ToolsEnd:]...)
}

// arrange returns the indexes of the elements in the wanted order, and how many of them the order has given after each
// of its names.
func arrange(elements []Element, order []string) (kept, after []int) {
	marks := MarksOf(order)
	twins := make([][]int, len(order)) // by the key's place in order, those that are wanted alone: an array may be far longer than what is kept of it
	for i := range elements {
		if place, wanted := marks.Place(elements[i].Key); wanted {
			twins[place] = append(twins[place], i)
		}
	}
	kept, after = make([]int, 0, len(order)), make([]int, 0, len(order))
	for place := range order {
		kept = append(kept, twins[place]...)
		after = append(after, len(kept))
	}
	return kept, after
}

func ascending(indexes []int) bool {
	for i := 1; i < len(indexes); i++ {
		if indexes[i] < indexes[i-1] {
			return false
		}
	}
	return true
}
