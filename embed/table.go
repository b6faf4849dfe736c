package embed

import (
	_ "embed" // for the table
	"encoding/binary"
	"fmt"
	"math"

	"toolbelt/catalog"
)

// tableText is the trained table: the rows are used where they lie in the binary, never decoded as a whole, so
// that they cost no memory until they are read. The recipe is scripts/train_static_table.py.
//
//go:embed static/table.bin
var tableText string

// tableDigest is the SHA-256 of tableText, written down so that nobody has to read 8 MB at start.
const tableDigest = "7783f5bef4bf0432ce6b2f881576eea10c79e570360afd7f449c38b8be95f1f1"

const (
	tableDim    = 256
	tableHeader = 16 // "TBST", version, rows, dim: uint32 each, little-endian
)

// table is a matrix of int8 rows, each with a scale.
type table struct {
	rows   int
	scales string // rows × float32, little-endian
	cells  string // rows × tableDim × int8
}

func parseTable(data string) (table, error) {
	if len(data) < tableHeader || data[:4] != "TBST" {
		return table{}, catalog.NewError(catalog.Internal, "the embedding table has no TBST header", nil)
	}
	word := func(i int) int { return int(binary.LittleEndian.Uint32([]byte(data[4*i : 4*i+4]))) }
	version, rows, dim := word(1), word(2), word(3)
	if version != 1 || dim != tableDim || len(data) != tableHeader+rows*(4+dim) {
		return table{}, catalog.NewError(catalog.Internal,
			fmt.Sprintf("the embedding table is of version %d with %d rows of %d in %d bytes, expected version 1 with rows of %d", version, rows, dim, len(data), tableDim), nil)
	}
	cells := tableHeader + 4*rows
	return table{rows: rows, scales: data[tableHeader:cells], cells: data[cells:]}, nil
}

func (t table) scale(id uint16) float32 {
	s := t.scales[4*int(id) : 4*int(id)+4]
	return math.Float32frombits(uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24)
}

func (t table) row(id uint16) string { return t.cells[int(id)*tableDim : (int(id)+1)*tableDim] }

// sumReference adds up the rows of ids, one number after the other.
func (t table) sumReference(sum *[tableDim]float32, ids []uint16) {
	for _, id := range ids {
		scale, row := t.scale(id), t.row(id)
		for i := range sum {
			sum[i] += scale * float32(int8(row[i]))
		}
	}
}
