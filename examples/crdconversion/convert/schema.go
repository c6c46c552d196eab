package convert

import (
	"regexp"
	"slices"
	"unicode/utf8"
)

// The constraints of the versions' schemas. TestSchemas compares them with the CustomResourceDefinition.
var (
	v1Spec = object{
		"size":      text{pattern: regexp.MustCompile(`^[1-9][0-9]{0,3}x[1-9][0-9]{0,5}(Ki|Mi|Gi|Ti)$`)},
		"port":      integer{1, 65535},
		"tlsSecret": text{min: 1, max: 253},
		"evict":     text{words: []string{"lru", "lfu", "never"}},
		"debug":     boolean{},
	}
	v2Spec = object{
		"replicas":  integer{1, 9999},
		"resources": object{"memory": text{pattern: regexp.MustCompile(`^[1-9][0-9]{0,5}(Ki|Mi|Gi|Ti)$`)}},
		"network": object{
			"port": integer{1, 65535},
			"tls":  object{"secretName": text{min: 1, max: 253}, "minVersion": text{words: []string{"1.2", "1.3"}}},
		},
		"eviction": object{"policy": text{words: []string{"LeastRecentlyUsed", "LeastFrequentlyUsed", "Random", "Never"}}},
		"zones":    set{items: text{min: 1}, min: 1, max: 16},
	}
)

type constraint interface{ allows(value any) bool }

// object allows unknown fields: a newer definition may have them.
type object map[string]constraint

func (o object) allows(value any) bool {
	fields, ok := value.(map[string]any)
	for name, field := range o {
		if inner, exists := fields[name]; exists && !field.allows(inner) {
			return false
		}
	}
	return ok
}

type text struct {
	min, max int // zero max: no limit
	pattern  *regexp.Regexp
	words    []string
}

func (s text) allows(value any) bool {
	of, ok := value.(string)
	length := utf8.RuneCountInString(of)
	return ok && length >= s.min && (s.max == 0 || length <= s.max) &&
		(s.pattern == nil || s.pattern.MatchString(of)) && (s.words == nil || slices.Contains(s.words, of))
}

type integer struct{ min, max int64 }

func (n integer) allows(value any) bool {
	of, ok := value.(int64)
	return ok && of >= n.min && of <= n.max
}

type boolean struct{}

func (boolean) allows(value any) bool {
	_, ok := value.(bool)
	return ok
}

// set has no item twice.
type set struct {
	items    text
	min, max int
}

func (s set) allows(value any) bool {
	items, ok := value.([]any)
	known := map[any]bool{}
	for _, item := range items {
		if !s.items.allows(item) || known[item] {
			return false
		}
		known[item] = true
	}
	return ok && len(items) >= s.min && len(items) <= s.max
}
