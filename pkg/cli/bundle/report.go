package bundle

import "fmt"

// maxProblems is how many problems of one kind are reported for one file. A file of 1 MiB may have
// 100,000 of them.
const maxProblems = 200

// problemsOf is what problems are counted by.
type problemsOf struct {
	kind Kind
	file string
}

// report adds a problem. The last one of its kind and file says that more of them are not reported.
func (b *Bundle) report(p Problem) {
	key := problemsOf{p.Kind, p.File}
	if b.reported == nil {
		b.reported = map[problemsOf]int{}
	}
	b.reported[key]++
	switch n := b.reported[key]; {
	case n <= maxProblems:
		b.Problems = append(b.Problems, p)
	case n == maxProblems+1:
		b.Problems = append(b.Problems, Problem{
			Kind: p.Kind, File: p.File, Line: max(p.Line, 1), Detail: fmt.Sprintf("has more than %d problems like the previous one, and the others are not listed", maxProblems),
			WayOut: "correct those that are listed, and validate the bundle again",
		})
	}
}

// full reports whether further problems of a kind with a file are not reported.
func (b *Bundle) full(kind Kind, file string) bool {
	return b.reported[problemsOf{kind, file}] > maxProblems
}
