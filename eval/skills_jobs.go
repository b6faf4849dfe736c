package eval

import (
	_ "embed" // for the jobs
	"encoding/json"
	"fmt"
	"strings"

	"toolbelt/catalog"
)

// jobsText is the generator of repeated jobs: tools, and jobs with five ways to ask for each.
//
//go:embed skills_jobs.json
var jobsText []byte // read only

// RepeatedName is the name of the set that RepeatedJobs makes.
const RepeatedName = "repeated"

// RepeatedJobs is a set of jobs that come again: each of its cases is one way to ask for one of them. An error means that the
// binary is damaged.
func RepeatedJobs() (*Dataset, error) {
	var file struct {
		Tools [][3]json.RawMessage `json:"tools"` // name, description, names of parameters
		Jobs  []struct {
			Name  string   `json:"name"`
			Steps []string `json:"steps"`
			Asks  []string `json:"asks"`
		} `json:"jobs"`
	}
	if err := json.Unmarshal(jobsText, &file); err != nil {
		return nil, fmt.Errorf("reading the repeated jobs: %w", err)
	}
	d := &Dataset{Name: RepeatedName}
	for _, t := range file.Tools {
		tool, err := repeatedTool(t)
		if err != nil {
			return nil, fmt.Errorf("reading the tools of the repeated jobs: %w", err)
		}
		d.Tools = append(d.Tools, tool)
	}
	for _, j := range file.Jobs {
		for i, ask := range j.Asks {
			message, _ := json.Marshal(map[string]string{"role": "user", "content": ask}) // strings always can
			d.Cases = append(d.Cases, Case{
				ID: fmt.Sprintf("%s-%d", j.Name, i+1), Messages: []json.RawMessage{message}, Needed: j.Steps, Steps: j.Steps, Group: j.Name, Turn: i,
			})
		}
	}
	return d, nil
}

func repeatedTool(t [3]json.RawMessage) (catalog.Tool, error) {
	var parameters []string
	if err := json.Unmarshal(t[2], &parameters); err != nil {
		return catalog.Tool{}, err
	}
	for i, p := range parameters {
		parameters[i] = fmt.Sprintf("%q:{\"type\":\"string\"}", p)
	}
	line := fmt.Sprintf(`{"name":%s,"description":%s,"parameters":{"type":"object","properties":{%s}}}`, t[0], t[1], strings.Join(parameters, ","))
	tool, ok := catalog.ParseTool([]byte(line))
	if !ok {
		return tool, fmt.Errorf("%s is no tool", t[0])
	}
	return tool, nil
}

// repeatedFolds tests two ways to ask for each job and learns from the other three, each two neighbours once.
func repeatedFolds(cases []Case) []fold {
	const ways = 5
	folds := make([]fold, ways)
	for i := range folds {
		for _, c := range cases {
			if c.Turn == i || c.Turn == (i+1)%ways {
				folds[i].test = append(folds[i].test, c)
			} else {
				folds[i].learn = append(folds[i].learn, c)
			}
		}
	}
	return folds
}
