package convert

import (
	"fmt"
	"strconv"
	"strings"
)

var fields = []field{
	size{},
	moved{v1: "port", v2: "network.port"},
	moved{v1: "tlsSecret", v2: "network.tls.secretName"},
	renamed{v1: "evict", v2: "eviction.policy", v2Of: map[string]string{
		"lru":   "LeastRecentlyUsed",
		"lfu":   "LeastFrequentlyUsed",
		"never": "Never",
	}},
}

// field converts one value, and removes it from the source if it can be converted.
type field interface {
	toV2(v1, v2 values)
	toV1(v2, v1 values)
}

type moved struct{ v1, v2 string }

func (m moved) toV2(v1, v2 values) { move(v1, m.v1, v2, m.v2) }
func (m moved) toV1(v2, v1 values) { move(v2, m.v2, v1, m.v1) }

func move(from values, fromPath string, to values, toPath string) {
	if value, ok := from.get(fromPath); ok {
		from.take(fromPath)
		to.set(toPath, value)
	}
}

// renamed is a word at another path, with a synonym there.
type renamed struct {
	v1, v2 string
	v2Of   map[string]string
}

func (r renamed) toV2(v1, v2 values) {
	word, _ := v1.get(r.v1)
	for old, synonym := range r.v2Of {
		if word == old {
			v1.take(r.v1)
			v2.set(r.v2, synonym)
		}
	}
}

func (r renamed) toV1(v2, v1 values) {
	word, _ := v2.get(r.v2)
	for old, synonym := range r.v2Of {
		if word == synonym {
			v2.take(r.v2)
			v1.set(r.v1, old)
		}
	}
}

// size is one text in v1, such as 3x512Mi, and two values in v2.
type size struct{}

const (
	sizePath     = "size"
	replicasPath = "replicas"
	memoryPath   = "resources.memory"
)

func (size) toV2(v1, v2 values) {
	text, _ := v1.get(sizePath)
	if replicas, memory, ok := parseSize(text); ok {
		v1.take(sizePath)
		v2.set(replicasPath, replicas)
		v2.set(memoryPath, memory)
	}
}

func (size) toV1(v2, v1 values) {
	replicas, _ := v2.get(replicasPath)
	memory, _ := v2.get(memoryPath)
	text := fmt.Sprintf("%vx%v", replicas, memory)
	// Only a text that parses to the same two values is converted.
	if r, m, ok := parseSize(text); ok && r == replicas && m == memory {
		v2.take(replicasPath)
		v2.take(memoryPath)
		v1.set(sizePath, text)
	}
}

// parseSize parses a size such as 3x512Mi. The number must be in canonical form.
func parseSize(size any) (replicas int64, memory string, ok bool) {
	text, isText := size.(string)
	count, memory, isPair := strings.Cut(text, "x")
	replicas, err := strconv.ParseInt(count, 10, 64)
	if !isText || !isPair || err != nil || strconv.FormatInt(replicas, 10) != count {
		return 0, "", false
	}
	return replicas, memory, true
}
