package ruletest

import (
	"fmt"
	"io"
	"slices"

	"github.com/envoy-rls/envoy-rls/pkg/descriptors"
	"github.com/envoy-rls/envoy-rls/pkg/rls/explain"
)

// Coverage notes which rules and limits tests have met. The zero value has met
// none; a nil one notes nothing.
type Coverage struct {
	items []item
	known map[string]int // by place and label
}

// item is a limit, or a rule that has none.
type item struct {
	place     descriptors.Place
	label     string
	canDeny   bool
	met, over bool
}

// Add adds the rules of a set to what is to be met; those that are there already
// are the same.
func (c *Coverage) Add(set *descriptors.Ruleset) {
	if c.known == nil {
		c.known = make(map[string]int)
	}
	for _, domain := range set.Domains() {
		for rule := range domain.Rules() {
			if len(rule.Limits) == 0 {
				c.add(item{place: rule.Place, label: rule.Path})
			}
			for _, l := range rule.Limits {
				c.add(item{place: l.Place, label: l.Label, canDeny: !l.Unlimited})
			}
		}
	}
}

func (c *Coverage) add(i item) {
	id := itemID(i.place.String(), i.label)
	if _, known := c.known[id]; !known {
		c.known[id] = len(c.items)
		c.items = append(c.items, i)
	}
}

func itemID(place, label string) string { return place + " " + label }

// note takes a call over. A limit is met if it said something to a call; one that
// another replaced did not.
func (c *Coverage) note(x *explain.Explanation) {
	if c == nil {
		return
	}
	for i := range x.Descriptors {
		d := &x.Descriptors[i]
		if at, known := c.known[itemID(d.Place, d.Rule)]; known {
			c.items[at].met = true
		}
		for j := range d.Limits {
			l := &d.Limits[j]
			if at, known := c.known[itemID(l.Place, l.Label)]; known && !l.Replaced {
				c.items[at].met = true
				c.items[at].over = c.items[at].over || !l.Allowed && !l.Unlimited
			}
		}
	}
}

// Percent is the share of rules and limits that were met: 100 where there are
// none.
func (c *Coverage) Percent() float64 {
	met := 0
	for i := range c.items {
		if c.items[i].met {
			met++
		}
	}
	if len(c.items) == 0 {
		return 100
	}
	return 100 * float64(met) / float64(len(c.items))
}

// WriteText says what no test met, and which limits no test found over.
func (c *Coverage) WriteText(w io.Writer) error {
	items := slices.Clone(c.items)
	slices.SortStableFunc(items, func(a, b item) int { return a.place.Compare(b.place) })
	met := 0
	for _, i := range items {
		if i.met {
			met++
		}
	}
	_, err := fmt.Fprintf(w, "coverage: %.1f%% (%d of %d rules and limits)\n", c.Percent(), met, len(items))
	for _, i := range items {
		text := ""
		switch {
		case !i.met:
			text = "no test meets " + i.label
		case i.canDeny && !i.over:
			text = "met, but never over: " + i.label
		}
		if text != "" && err == nil {
			_, err = fmt.Fprintf(w, "  %s: %s\n", i.place, text)
		}
	}
	return err
}
