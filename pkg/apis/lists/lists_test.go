package lists

import (
	"slices"
	"strings"
	"testing"
)

type text string

func TestLists(t *testing.T) {
	for name, test := range map[string]struct{ got, want []string }{
		"map":               {Map([]string{"a", "b"}, strings.ToUpper), []string{"A", "B"}},
		"filter":            {Filter([]string{"a", "b", "c"}, func(s string) bool { return s != "b" }), []string{"a", "c"}},
		"filter and map":    {FilterMap([]string{"ax", "b"}, func(s string) (string, bool) { return strings.CutSuffix(s, "x") }), []string{"a"}},
		"first of each key": {Unique([]string{"a", "B", "A", "b"}, strings.ToLower), []string{"a", "B"}},
		"distinct":          {Distinct([]string{"b", "a", "b"}), []string{"b", "a"}},
		"sorted":            {Sorted([]string{"b", "a", "b"}), []string{"a", "b"}},
		"texts":             {Texts([]text{"b", "a"}), []string{"b", "a"}},
		"first":             {[]string{First([]string{"a", "b", "ba"}, func(s string) bool { return s >= "b" })}, []string{"b"}},
		"no first":          {[]string{First([]string{"a"}, func(s string) bool { return s == "b" })}, []string{""}},
		"order of the keys": {ByKey(map[int]string{2: "a", 1: "b"}), []string{"b", "a"}},
	} {
		if !slices.Equal(test.got, test.want) {
			t.Errorf("%s: got %q, want %q", name, test.got, test.want)
		}
	}
	if Map(nil, strings.ToUpper) != nil || Unique([]string{}, strings.ToLower) != nil {
		t.Error("no items give nil")
	}
}
