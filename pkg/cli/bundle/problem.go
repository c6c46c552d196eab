package bundle

import (
	"fmt"
	"strconv"
)

// Problem is a part of a bundle that cannot be read, or is not read as it is written.
type Problem struct {
	Kind Kind
	// File is the path in the bundle; empty if the problem is about the whole bundle.
	File string
	// Line counts from 1; 0 is the whole file.
	Line   int
	Path   string
	Detail string
	Remedy string
}

// Kind is the kind of a problem. Its text is stable, because waivers and programs use it.
type Kind string

// The kinds of problems. Fatal problems prevent the installation.
const (
	NotABundle     Kind = "not-a-bundle"
	TooBig         Kind = "too-big"
	BrokenFile     Kind = "broken-file"
	NotAnObject    Kind = "not-an-object"
	NoCSV          Kind = "no-csv"
	SeveralCSVs    Kind = "several-csvs"
	WrongCSVGroup  Kind = "csv-api-version"
	UnknownKind    Kind = "unknown-kind"
	Undecodable    Kind = "wrong-type"
	TooWide        Kind = "too-many-combinations"
	SeveralObjects Kind = "several-objects"
	StrayFile      Kind = "stray-file"
	UnknownField   Kind = "unknown-field"
	RepeatedField  Kind = "repeated-field"
	NoAnnotation   Kind = "no-annotation"
	BrokenMetadata Kind = "broken-metadata"
	BrokenEntry    Kind = "broken-entry"
)

// Fatal reports whether a problem of this kind prevents the installation.
func (k Kind) Fatal() bool {
	switch k {
	case SeveralObjects, StrayFile, UnknownField, RepeatedField, NoAnnotation, BrokenMetadata, BrokenEntry:
		return false
	default:
		return true
	}
}

func (p Problem) String() string {
	place := p.File
	if p.Line > 0 {
		place += ":" + strconv.Itoa(p.Line)
	}
	if p.Path != "" {
		place += ": " + p.Path
	}
	if place != "" {
		place += ": "
	}
	return place + p.Detail + "; " + p.Remedy
}

// maxProblems limits the reported problems of one kind in one file. A file of 1 MiB may have 100,000.
const maxProblems = 200

type problemsOf struct {
	kind Kind
	file string
}

// report adds a problem. The last one of its kind and file reports that the others are left out.
func (r *reader) report(p Problem) {
	key := problemsOf{p.Kind, p.File}
	r.reported[key]++
	switch n := r.reported[key]; {
	case n <= maxProblems:
		r.Problems = append(r.Problems, p)
	case n == maxProblems+1:
		r.Problems = append(r.Problems, Problem{
			Kind: p.Kind, File: p.File, Line: max(p.Line, 1), Detail: fmt.Sprintf("has more than %d problems like the previous one, and the others are not listed", maxProblems),
			Remedy: "correct the listed ones, and validate the bundle again",
		})
	}
}

func (r *reader) full(kind Kind, file string) bool {
	return r.reported[problemsOf{kind, file}] > maxProblems
}

func (r *reader) addProblem(kind Kind, file string, line int, detail, remedy string) {
	r.report(Problem{Kind: kind, File: file, Line: line, Detail: detail, Remedy: remedy})
}

func (r *reader) addFieldProblem(kind Kind, o *Object, path, detail, remedy string) {
	if !r.full(kind, o.File) {
		r.report(Problem{Kind: kind, File: o.File, Line: o.Line(path), Path: path, Detail: detail, Remedy: remedy})
	}
}
