package bundle

import (
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// positions finds fields in the text of an object. It parses only when needed: most objects have no problems.
type positions struct {
	parse sync.Once
	root  *yaml.Node
	keys  map[*yaml.Node]map[string]int // the indexes of the keys of mappings
}

// Line returns the line of a field: "spec.rules[0].apiGroups", or "metadata.annotations[example.com/key]" for keys with
// dots. A missing field has the line of the innermost existing field around it.
func (o *Object) Line(path string) int { return o.lineAt(steps(path)) }

func (o *Object) lineAt(at keyPath) int {
	o.positions.parse.Do(func() {
		o.positions.keys = map[*yaml.Node]map[string]int{}
		var document yaml.Node
		if yaml.Unmarshal(o.text, &document) == nil && len(document.Content) > 0 {
			o.positions.root = document.Content[0]
		}
	})
	node := o.positions.root
	if node == nil {
		return o.firstLine
	}
	line := node.Line
	for _, step := range at {
		next, at := o.positions.child(node, step)
		if next == nil {
			break
		}
		node, line = next, at
	}
	return o.firstLine + line - 1
}

// steps splits a path: a.b[0][c.d] is a, b, 0, c.d. A string cannot represent every path.
func steps(path string) keyPath {
	var all []string
	for path != "" {
		switch path[0] {
		case '.':
			path = path[1:]
		case '[':
			step, rest, closed := strings.Cut(path[1:], "]")
			if !closed {
				return all
			}
			all, path = append(all, step), rest
		default:
			end := strings.IndexAny(path, ".[")
			if end < 0 {
				end = len(path)
			}
			all, path = append(all, path[:end]), path[end:]
		}
	}
	return all
}

// child returns the field or item of a node, and the line of its key.
func (p *positions) child(node *yaml.Node, step string) (*yaml.Node, int) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if node.Kind != yaml.MappingNode {
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(node.Content) {
			return node.Content[i], node.Content[i].Line
		}
		return nil, 0
	}
	i, found := p.keysOf(node)[step]
	if !found {
		return nil, 0
	}
	return node.Content[i+1], node.Content[i].Line
}

// keysOf returns the keys of a mapping. They are listed once: a mapping may have 100,000 of them.
func (p *positions) keysOf(node *yaml.Node) map[string]int {
	keys, listed := p.keys[node]
	if listed {
		return keys
	}
	keys = map[string]int{}
	for i := len(node.Content) - 2; i >= 0; i -= 2 {
		keys[node.Content[i].Value] = i // a repeated key has the line of the first
	}
	p.keys[node] = keys
	return keys
}
