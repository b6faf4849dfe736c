package embed

// sum adds the rows of ids to sum, eight numbers at a time.
func (t table) sum(sum *[tableDim]float32, ids []uint16) {
	for _, id := range ids {
		scale, row := t.scale(id), t.row(id)
		for i := 0; i < tableDim; i += 8 {
			r, s := row[i:i+8], sum[i:i+8:i+8]
			s[0] += scale * float32(int8(r[0]))
			s[1] += scale * float32(int8(r[1]))
			s[2] += scale * float32(int8(r[2]))
			s[3] += scale * float32(int8(r[3]))
			s[4] += scale * float32(int8(r[4]))
			s[5] += scale * float32(int8(r[5]))
			s[6] += scale * float32(int8(r[6]))
			s[7] += scale * float32(int8(r[7]))
		}
	}
}
