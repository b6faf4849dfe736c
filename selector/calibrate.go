package selector

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"toolbelt/catalog"
	"toolbelt/embed"
)

// Calibration is how an embedder sees requests that no particular tool is for. Matches of the background are leave-one-out: each request is measured
// against the others, as any request from outside would be.
type Calibration struct {
	embed.Measured
	P50, P95, P99, Max float64     // of the matches that the background's requests reach with the tools
	Admitted           []Admission // the background's, by ascending threshold
	GenericAdmitted    []Admission // the generic requests', at the same thresholds; nil where there are none
}

// thresholds are those that admission is told at.
func thresholds() []float64 { return []float64{1, 1.5, 2, 2.5, 3} }

// Admission is how many tools such a request lets over a threshold, on average.
type Admission struct {
	Threshold float64
	Tools     float64
}

// minCalibration is the least number of requests that can be measured against each other.
const minCalibration = 8

// Models returns the models of the index's views.
func (ix *Index) Models() []embed.Model {
	models := make([]embed.Model, len(ix.views))
	for i, v := range ix.views {
		models[i] = v.model
	}
	return models
}

// Calibrate measures the views by these models together, as a query by all of them is matched; all views where none is named. At is left zero. A
// model without a view is an error of kind NotFound; a catalog without tools, or a background of fewer than eight requests, one of kind Invalid. Cost:
// requests × tools dot products a view and sorting as many numbers: about 2 ms at 200 tools, and 4 bytes each.
func (ix *Index) Calibrate(models ...embed.Model) (Calibration, error) {
	if len(models) == 0 {
		models = ix.Models()
	}
	if len(models) == 0 || ix.catalog.Len() == 0 {
		return Calibration{}, catalog.NewError(catalog.Invalid, fmt.Sprintf("measuring %d tools by %d embedders: there must be one of each", ix.catalog.Len(), len(models)), nil)
	}
	var sum left
	for _, m := range models {
		i := slices.IndexFunc(ix.views, func(v *View) bool { return v.model == m })
		if i < 0 {
			return Calibration{}, catalog.NewError(catalog.NotFound, fmt.Sprintf("no view by %q to measure", m.Name), nil)
		}
		one, err := ix.views[i].leaveOneOut()
		if err != nil {
			return Calibration{}, err
		}
		if err := sum.add(one); err != nil {
			return Calibration{}, err
		}
	}
	c := sum.summary(len(models))
	c.Model, c.Catalog, c.Tools = Joined(models), ix.catalog.Hash(), ix.catalog.Len()
	return c, nil
}

// Joined names several models that decide together as one: names and digests joined by "+".
func Joined(models []embed.Model) embed.Model {
	if len(models) == 1 {
		return models[0]
	}
	var names, digests []string
	var m embed.Model
	for _, one := range models {
		names, digests = append(names, one.Name), append(digests, one.Digest)
		m.Prefix, m.Dim = max(m.Prefix, one.Prefix), m.Dim+one.Dim
	}
	m.Name, m.Digest = strings.Join(names, "+"), strings.Join(digests, "+")
	return m
}

// left is what leaving one request out at a time came to.
type left struct {
	requests      int
	matches       []float32 // every request's with every tool
	mean, squares float64   // of the cosines
}

// leaveOneOut matches each request of the background against a background of the others: mean, deviation and the averaging of variances as in calibrate.
func (v *View) leaveOneOut() (left, error) {
	n := len(v.mean)
	requests := len(v.background)
	if requests < minCalibration {
		return left{}, catalog.NewError(catalog.Invalid, fmt.Sprintf("measuring %q: %d unrelated requests are too few", v.model.Name, requests), nil)
	}
	l := left{requests: requests, matches: make([]float32, n*requests)}
	sum, squares := make([]float64, n), make([]float64, n)
	for j, b := range v.background {
		cosines := l.matches[j*n : (j+1)*n]
		v.cosines(b, cosines)
		for i, c := range cosines {
			sum[i] += float64(c)
			squares[i] += float64(c) * float64(c)
		}
	}
	for i := range sum {
		l.mean += sum[i]
		l.squares += squares[i]
	}
	count := float64(n * requests)
	l.mean, l.squares = l.mean/count, l.squares/count
	others, variance, mean := float64(requests-1), make([]float64, n), make([]float64, n)
	for j := range requests {
		cosines := l.matches[j*n : (j+1)*n]
		average, known := 0.0, 0.0
		for i, c := range cosines {
			mean[i] = (sum[i] - float64(c)) / others
			variance[i] = math.Max(0, (squares[i]-float64(c)*float64(c))/others-mean[i]*mean[i])
			if variance[i] > 0 {
				average += variance[i]
				known++
			}
		}
		average /= math.Max(known, 1)
		for i, c := range cosines {
			deviation := math.Sqrt((variance[i] + average) / 2)
			cosines[i] = 0
			if variance[i] > 0 && deviation > minDeviation {
				cosines[i] = float32((float64(c) - mean[i]) / deviation)
			}
		}
	}
	return l, nil
}

// add sums the figures of several views of one catalog and one list of requests.
func (l *left) add(other left) error {
	if l.matches == nil {
		*l = other
		return nil
	}
	if len(l.matches) != len(other.matches) {
		return catalog.NewError(catalog.Invalid, fmt.Sprintf("measuring several embedders together: one has %d unrelated requests, another %d", l.requests, other.requests), nil)
	}
	for i, m := range other.matches {
		l.matches[i] += m
	}
	l.mean += other.mean
	l.squares += other.squares
	return nil
}

// summary tells the distribution of the mean over so many views. The matches are sorted in place.
func (l *left) summary(views int) Calibration {
	scale := 1 / float64(views)
	for i := range l.matches {
		l.matches[i] *= float32(scale)
	}
	slices.Sort(l.matches)
	at := func(share float64) float64 {
		return float64(l.matches[int(math.Round(share*float64(len(l.matches)-1)))])
	}
	mean := l.mean * scale
	c := Calibration{P50: at(0.5), P95: at(0.95), P99: at(0.99), Max: at(1)}
	c.Requests, c.Mean = l.requests, mean
	c.Deviation = math.Sqrt(math.Max(0, l.squares*scale-mean*mean))
	for _, threshold := range thresholds() {
		under, _ := slices.BinarySearch(l.matches, float32(threshold))
		c.Admitted = append(c.Admitted, Admission{threshold, float64(len(l.matches)-under) / float64(l.requests)})
	}
	if first := len(l.matches) - l.requests - 1; first >= 0 {
		c.Floor = math.Max(0, (math.Floor(float64(l.matches[first])*100)+1)/100)
	}
	return c
}
