package selector

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"toolbelt/catalog"
)

// toolOf is a tool with these parameters, given as "name", "name*" for a required one, or either with a description behind a colon.
func toolOf(name, description string, parameters ...string) catalog.Tool {
	var properties, required []string
	for _, p := range parameters {
		head, text, _ := strings.Cut(p, ":")
		key, needed := strings.CutSuffix(head, "*")
		if needed {
			required = append(required, fmt.Sprintf("%q", key))
		}
		properties = append(properties, fmt.Sprintf(`%q:{"type":"string","description":%q}`, key, text))
	}
	schema := fmt.Sprintf(`{"type":"object","properties":{%s},"required":[%s]}`, strings.Join(properties, ","), strings.Join(required, ","))
	return catalog.Tool{Name: name, Description: description, Schema: catalog.Schema(schema)}
}

// library is a catalog in which some tools require what others give.
func library() *catalog.Catalog {
	return catalog.New([]catalog.Tool{
		toolOf("renew_loan", "Renew a loan for another month.", "loan_id*"),
		toolOf("get_loan_details", "Get the state of a loan.", "loan_id*"),
		toolOf("get_reader_details", "Get the address of a reader, and the loans.", "reader_id*"),
		toolOf("find_reader_id_by_card", "Find who owns a card.", "card*"),
		toolOf("post_parcel", "Send a parcel.", "target*:The zipcode of the first house"),
		toolOf("getZipcodeOfTown", "Look a zipcode up.", "town*"),
		toolOf("block_reader", "Block a reader from borrowing.", "reader_id*", "reason*"),
		toolOf("write_notice", "Write a notice.", "text*"),
		toolOf("buy_shelf", "Buy a shelf.", "shelf_id"),
		toolOf("list_shelves", "List all shelves."),
		toolOf("lamp_on", "Switch the lamp on."),
	})
}

func TestWhoGivesWhatToolsRequire(t *testing.T) {
	cat := library()
	g := newGivers(cat)
	for name, want := range map[string]string{
		"renew_loan":             "get_loan_details get_reader_details",
		"get_loan_details":       "get_reader_details",
		"get_reader_details":     "find_reader_id_by_card",
		"block_reader":           "find_reader_id_by_card get_reader_details",
		"post_parcel":            "getZipcodeOfTown",
		"find_reader_id_by_card": "", // a card is what people have
		"write_notice":           "", // a text is what people say
		"buy_shelf":              "", // it can do without
		"lamp_on":                "",
	} {
		id, _ := cat.Lookup(name)
		var got []string
		for _, n := range g.needs[id] {
			for _, u := range g.given[n] {
				if u.tool != id {
					got = append(got, cat.Tool(u.tool).Name)
				}
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s is given by %q, want %q", name, got, want)
		}
	}
}

func TestOnlyTheSameServerGives(t *testing.T) {
	for _, mark := range []string{"__", "."} {
		g := newGivers(catalog.New([]catalog.Tool{
			toolOf("mail"+mark+"move_message", "", "message_id*"), toolOf("chat"+mark+"find_message", ""), toolOf("mail"+mark+"search_messages", ""), toolOf("list_messages", ""),
		}))
		if len(g.needs[0]) != 1 || len(g.given[g.needs[0][0]]) != 1 || g.given[g.needs[0][0]][0].tool != 2 {
			t.Errorf("%q: needs %v, given %v", mark, g.needs, g.given)
		}
	}
}

func TestWhatManyGiveLeadsToNone(t *testing.T) {
	for n, want := range map[int]int{1: 1, maxGivers: maxGivers, maxGivers + 1: 0} {
		tools := []catalog.Tool{toolOf("close_job", "", "job_id*")}
		for i := range n {
			tools = append(tools, toolOf(fmt.Sprintf("find_job_%c", 'a'+i), ""))
		}
		g := newGivers(catalog.New(tools))
		got := 0
		for _, at := range g.needs[0] {
			got += len(g.given[at])
		}
		if got != want {
			t.Errorf("of %d tools that give it, %d count, want %d", n, got, want)
		}
	}
}

func TestASharedSentenceSaysNothing(t *testing.T) {
	const shared = "Part of the order system. "
	tools := []catalog.Tool{
		toolOf("cancel", shared+"Cancels it.", "order_id*"), toolOf("get_weather", shared+"Tells the weather."), toolOf("get_customer", shared+"Tells the orders of a customer."),
	}
	g := newGivers(catalog.New(tools))
	if len(g.needs[0]) != 1 || len(g.given[g.needs[0][0]]) != 1 || g.given[g.needs[0][0]][0].tool != 2 {
		t.Errorf("needs %v, given %v", g.needs, g.given)
	}
}

func TestHandedOut(t *testing.T) {
	parameter := func(name, description string) catalog.Parameter {
		return catalog.Parameter{Name: name, Description: description, Required: true}
	}
	for _, c := range []struct {
		parameter catalog.Parameter
		want      string
	}{
		{parameter("order_id", ""), "order"},
		{parameter("orderIDs", ""), "order"},
		{parameter("payment-method-id", ""), "method payment"},
		{parameter("token", ""), "token"},
		{parameter("access_token", ""), "access token"},
		{parameter("countryCode", ""), "country"},
		{parameter("id", ""), ""},
		{parameter("id", "The order"), ""},
		{parameter("from", "The ID of the station to start at"), "station"},
		{parameter("from", "ID of a station"), "station"},
		{parameter("cityA", "The zipcode of the first city."), "zipcode"},
		{parameter("cityA", "The first city, by its zipcode"), ""},
		{parameter("name", "The name of the order"), ""},
		{parameter("", ""), ""},
		{parameter("one_two_three_four_five_six_id", ""), ""},
		{parameter("注文_id", ""), "注文"},
		{catalog.Parameter{Name: "order_id"}, ""},
		{catalog.Parameter{Name: "order_id", Required: true, Closed: true}, ""},
	} {
		if got := strings.Join(handedOut(c.parameter), " "); got != c.want {
			t.Errorf("%+v: %q, want %q", c.parameter, got, c.want)
		}
	}
}

func TestLookedUp(t *testing.T) {
	for name, want := range map[string]string{
		"get_order_details": "order", "ProductSearch": "product", "findUserByEmail": "user email", "airline_get_user": "user", "cancel_order": "-", "list": "", "": "-", "検索": "-",
	} {
		got := "-"
		if object, ok := lookedUp(name); ok {
			got = strings.Join(object, " ")
		}
		if got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestWhatPreparesTheBestRises(t *testing.T) {
	cat := library()
	g := newGivers(cat)
	rank := make([]float32, cat.Len())
	for i := range rank {
		rank[i] = -1
	}
	// Renewing is first, and what prepares it stands among the last.
	for i, name := range []string{"renew_loan", "write_notice", "lamp_on", "buy_shelf", "post_parcel", "list_shelves"} {
		id, _ := cat.Lookup(name)
		rank[id] = 3 - .2*float32(i)
	}
	before := slices.Clone(rank)
	found := g.raise(rank)
	rise := func(name string) float32 {
		id, _ := cat.Lookup(name)
		return rank[id] - before[id]
	}
	details, reader, finder := rise("get_loan_details"), rise("get_reader_details"), rise("find_reader_id_by_card")
	if !(details > 0 && reader > 0 && finder > 0) || finder > details || len(found) != 3 {
		t.Errorf("rises %v %v %v, found %v", details, reader, finder, found)
	}
	for _, name := range []string{"renew_loan", "block_reader", "post_parcel", "list_shelves"} {
		if rise(name) != 0 {
			t.Errorf("%s has risen by %v", name, rise(name))
		}
	}
	if first, after := topIDs(before, firstPlaces), topIDs(rank, firstPlaces); !slices.Equal(first, after) {
		t.Errorf("the first places were %v and are %v", first, after)
	}
}

func TestNothingRisesIntoTheFirstPlaces(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	cat := library()
	g := newGivers(cat)
	for range 500 {
		rank := make([]float32, cat.Len())
		for i := range rank {
			rank[i] = float32(rng.IntN(7)) - 3
		}
		before := slices.Clone(rank)
		g.raise(rank)
		if first, after := topIDs(before, firstPlaces), topIDs(rank, firstPlaces); !slices.Equal(first, after) {
			t.Fatalf("of %v the first places were %v and are %v", before, first, after)
		}
		for i := range rank {
			if rank[i] < before[i] {
				t.Fatalf("tool %d fell from %v to %v", i, before[i], rank[i])
			}
		}
	}
}

func TestGiversOfOddCatalogs(t *testing.T) {
	long := strings.Repeat("order id ", 20_000)
	for name, tools := range map[string][]catalog.Tool{
		"none":         {},
		"one":          {toolOf("cancel", "", "order_id*")},
		"itself":       {toolOf("get_order", "", "order_id*")},
		"alike":        slices.Repeat([]catalog.Tool{toolOf("get_order", "", "order_id*")}, 30),
		"a circle":     {toolOf("get_a", "of a b", "b_id*"), toolOf("get_b", "of an a", "a_id*")},
		"long":         {toolOf("get_x", long, "y_id*:"+long), toolOf("cancel", long, strings.ReplaceAll(long, " ", "_")+"*")},
		"not UTF-8":    {{Name: "get_\xff", Description: "\xff\xfe", Schema: catalog.Schema(`{"properties":{"\u0000_id":{}},"required":["\u0000_id"]}`)}},
		"broken":       {{Name: "get_order", Schema: catalog.Schema(`{"properties":`)}},
		"odd required": {{Name: "get_order", Schema: catalog.Schema(`{"properties":{"order_id":{"type":5,"description":7}},"required":"order_id"}`)}},
	} {
		cat := catalog.New(tools)
		ix, err := NewIndex(cat)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if s := ix.Score(Query{Texts: []string{"cancel the order"}}); len(s.Rank) != cat.Len() {
			t.Errorf("%s: %d ranks of %d tools", name, len(s.Rank), cat.Len())
		}
	}
}

// A step has a place by its rank on a turn that clearly needs a tool, however little it matches itself, and makes the list no longer.
func TestAStepNeedsNoMatchOfItsOwn(t *testing.T) {
	floor := Floor{Threshold: 2, Words: 1, Clear: 3, Low: .5}
	ids := func(best float32, steps ...Step) (list []catalog.ID) {
		s := Scores{Rank: []float32{9, 8, 7, 6}, Match: []float32{best, 0, .6, 2.5}, Words: make([]float32, 4), Steps: steps}
		for _, m := range Select(s, floor, 10) {
			list = append(list, m.ID)
		}
		return list
	}
	for _, c := range []struct {
		best  float32
		steps []Step
		want  []catalog.ID
	}{
		{4, nil, []catalog.ID{0, 2}},
		{4, []Step{{1, 2.8}}, []catalog.ID{0, 1}},
		{4, []Step{{0, 4}, {1, .5}}, []catalog.ID{0, 1}},
		{4, []Step{{1, .4}}, []catalog.ID{0, 2}},
		{2.2, []Step{{1, 2.8}}, []catalog.ID{0, 3}},
		{1, []Step{{1, 2.8}}, []catalog.ID{3}},
	} {
		if got := ids(c.best, c.steps...); !slices.Equal(got, c.want) {
			t.Errorf("best match %v, steps %v: %v, want %v", c.best, c.steps, got, c.want)
		}
	}
}

func TestExplainNamesWhatIsPrepared(t *testing.T) {
	e := builtin(t)
	cat := library()
	ix := indexBy(t, cat, e)
	q := queryOf(t, []string{"please renew my loan for another month"}, e)
	id, _ := cat.Lookup("find_reader_id_by_card")
	x := ix.Explain(q, id)
	if x.Prepares == catalog.None || cat.Tool(x.Prepares).Name != "get_reader_details" || !(x.Rise > 0) || !(x.Step > 0) {
		t.Errorf("prepares %d, by %v", x.Prepares, x.Rise)
	}
	if first, _ := cat.Lookup("renew_loan"); ix.Explain(q, first).Prepares != catalog.None {
		t.Errorf("what was asked for prepares something: %+v", ix.Explain(q, first))
	}
}

// BenchmarkGivers is what a new catalog costs in what its tools require and give, and what a plan does.
func BenchmarkGivers(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	verbs := []string{"get", "find", "delete", "update", "list"}
	for _, n := range []int{3438, 100_000} {
		tools := make([]catalog.Tool, n)
		for i := range tools {
			noun := func() string { return fmt.Sprintf("w%d", rng.IntN(n/20)) }
			tools[i] = toolOf(fmt.Sprintf("%s_%s_%d", verbs[rng.IntN(len(verbs))], noun(), i), "Works on a "+noun()+" or a "+noun()+". And more.", noun()+"_id*", noun()+"_id*", "text*")
		}
		cat := catalog.New(tools)
		b.Run(fmt.Sprintf("index/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				newGivers(cat)
			}
		})
		g := newGivers(cat)
		rank, scratch := make([]float32, n), make([]float32, n)
		for i := range rank {
			rank[i] = float32(rng.NormFloat64())
		}
		b.Run(fmt.Sprintf("raise/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				copy(scratch, rank)
				g.raise(scratch)
			}
		})
	}
}

func FuzzGivers(f *testing.F) {
	f.Add("get_order", "Get an order.", `{"properties":{"order_id":{"description":"The ID of the order"}},"required":["order_id"]}`, "cancelOrder")
	f.Add("find__x", "\xff: \n.", `[{"properties":{"":{}},"required":[""]}]`, "検索")
	f.Fuzz(func(t *testing.T, name, description, schema, other string) {
		tools := []catalog.Tool{
			{Name: name, Description: description, Schema: catalog.Schema(schema)}, {Name: other, Description: name, Schema: catalog.Schema(schema)},
			{Name: "get_" + name, Description: description}, {Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d"},
		}
		cat := catalog.New(tools)
		g := newGivers(cat)
		rank := make([]float32, cat.Len())
		for i := range rank {
			rank[i] = float32(len(rank) - 2*i)
		}
		for _, p := range g.raise(rank) {
			if p.tool == p.before || p.rise < 0 || !(p.worth > 0 && p.worth <= 1) {
				t.Fatalf("%+v", p)
			}
		}
	})
}
