package skills

import (
	"math/bits"

	"toolbelt/embed"
)

const (
	sketchFrom    = 2048 // rows: fewer are all looked at
	sketchNearest = 512  // rows that a sketch names, at least where there are as many
)

// sketch holds the signs of each row's numbers, less the mean of all rows: the number of places where two rows' signs differ grows with the
// angle between them (Charikar's estimate, 256 places give it ±5 degrees), and costs a few instructions to count.
type sketch struct {
	mean  []float32
	words int      // of 64 signs, a row
	signs []uint64 // rows × words
}

func newSketch(matrix []float32, dim int) *sketch {
	rows := len(matrix) / dim
	s := &sketch{mean: make([]float32, dim), words: (dim + 63) / 64}
	for i, x := range matrix {
		s.mean[i%dim] += x / float32(rows)
	}
	s.signs = make([]uint64, rows*s.words)
	for row := range rows {
		s.sign(matrix[row*dim:(row+1)*dim], s.signs[row*s.words:(row+1)*s.words])
	}
	return s
}

func (s *sketch) sign(v []float32, into []uint64) {
	for i, x := range v {
		if x > s.mean[i] {
			into[i/64] |= 1 << (i % 64)
		}
	}
}

// nearest returns the rows whose signs differ least from v's, in order: as many as share the distances that the first sketchNearest have.
// Cost: about a nanosecond a word of signs.
func (s *sketch) nearest(v embed.Vector) []int32 {
	query := make([]uint64, s.words)
	s.sign(v, query)
	rows := len(s.signs) / s.words
	distances := make([]uint16, rows)
	counts := make([]int32, 64*s.words+1)
	if s.words == 4 {
		s.four(query, distances)
	} else {
		for row := range distances {
			d := 0
			for w, q := range query {
				d += bits.OnesCount64(q ^ s.signs[row*s.words+w])
			}
			distances[row] = uint16(d)
		}
	}
	for _, d := range distances {
		counts[d]++
	}
	last, named := 0, counts[0]
	for named < sketchNearest && last < len(counts)-1 {
		last++
		named += counts[last]
	}
	list := make([]int32, 0, named)
	for row, d := range distances {
		if int(d) <= last {
			list = append(list, int32(row))
		}
	}
	return list
}

// four counts for rows of four words, which is what 256 numbers have.
func (s *sketch) four(query []uint64, distances []uint16) {
	q0, q1, q2, q3 := query[0], query[1], query[2], query[3]
	signs := s.signs
	for row := range distances {
		w := signs[4*row : 4*row+4 : 4*row+4]
		distances[row] = uint16(bits.OnesCount64(q0^w[0]) + bits.OnesCount64(q1^w[1]) + bits.OnesCount64(q2^w[2]) + bits.OnesCount64(q3^w[3]))
	}
}
