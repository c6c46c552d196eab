// Package yamltext checks YAML of bundles, annotations and ConfigMaps before it is parsed.
package yamltext

import (
	"bytes"
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// Limits of a YAML document. A parser needs about 300 bytes for each value, and aliases repeat what
// they name: a document of 80 kB may need gigabytes.
const (
	// freeMarks is how many marks any document may have. A mark is a byte that begins a value.
	freeMarks = 1 << 16
	// bytesPerMark is how many bytes a longer document has for each mark. Manifests have 12.
	bytesPerMark = 8
	// maxRepeated is how many bytes aliases may add to a document.
	maxRepeated = 1 << 20
	// MaxDepth is how many mappings and lists may be inside each other. Paths to fields get longer with each,
	// and types that decode themselves read what is inside them again. Definitions have up to 40.
	MaxDepth = 128
	// nodeSize is what a value counts for, in addition to its text.
	nodeSize = 64
)

// Check returns why a document must not be parsed; nil when it may be.
func Check(text []byte) error {
	if n := marks(text); n > freeMarks && n > len(text)/bytesPerMark {
		return fmt.Errorf("has about %d values in %d bytes, and needs too much memory", n, len(text))
	}
	if !bytes.ContainsRune(text, '&') || !bytes.ContainsRune(text, '*') {
		return nil // it has no aliases
	}
	var document yaml.Node
	if yaml.Unmarshal(text, &document) != nil {
		return nil //nolint:nilerr // the parser that follows reports it
	}
	e := expansion{sizes: map[*yaml.Node]int{}, limit: len(text) + (marks(text)+1)*nodeSize + maxRepeated}
	_, err := e.size(&document)
	return err
}

// marks counts the bytes that can begin a value: there are at most as many values.
func marks(text []byte) int {
	n := 0
	for _, b := range text {
		switch b {
		case ',', ':', '[', '{', '\n', '\r', '-', '?':
			n++
		}
	}
	return n
}

// Depth is how many mappings and lists of a valid JSON text are inside each other.
func Depth(text []byte) int {
	deepest, now, quoted := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			now++
			deepest = max(deepest, now)
		case c == '}' || c == ']':
			now--
		}
	}
	return deepest
}

// expansion computes the size of a document when each alias is replaced by what it names.
type expansion struct {
	sizes map[*yaml.Node]int // -1 while it is being computed
	limit int
}

var errExpansion = errors.New("its aliases (*name) repeat too much of it")

func (e *expansion) size(node *yaml.Node) (int, error) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if size, known := e.sizes[node]; known {
		if size < 0 {
			return 0, errors.New("has an anchor (&name) that contains its own alias (*name)")
		}
		return size, nil
	}
	e.sizes[node] = -1
	size := nodeSize + len(node.Value)
	for _, child := range node.Content {
		n, err := e.size(child)
		if err != nil {
			return 0, err
		}
		if size += n; size > e.limit {
			return 0, errExpansion
		}
	}
	e.sizes[node] = size
	return size, nil
}
