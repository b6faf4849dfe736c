package embed

import (
	"time"

	"toolbelt/catalog"
)

// Measured is what requests that no particular tool is for come to by one model for one catalog; where several models decide together, Model's
// name and digest are theirs, joined by "+", and the figures are of their mean.
type Measured struct {
	Model     Model
	Catalog   catalog.Hash // catalog.Catalog.Hash
	Tools     int
	Requests  int
	Mean      float64 // of the cosines of all tools with all requests
	Deviation float64 // of the same
	Floor     float64 // match units: the least τ, to two digits, at which such a request lets one tool over the floor on average, or fewer
	Generic   int     // requests about the catalog's own subjects, for no particular tool; 0 where its names have none
	Ceiling   float64 // match units: the τ up to which nine of ten of those let a tool over the floor; 0 without any
	At        time.Time
}
