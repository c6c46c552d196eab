// Package lint reports what is wrong with a bundle: what keeps it from being read, what an
// API server or the manager would refuse, what would be accepted and not work, and what
// an administrator would rather not have.
package lint

import (
	"cmp"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
)

// Level is how bad a finding is.
type Level string

// The levels. A bundle with errors does not work; warnings are for its author to judge.
const (
	Error   Level = "error"
	Warning Level = "warning"
)

// Basis is what a check rests on.
type Basis string

const (
	// Unreadable is what programs cannot read, or read otherwise than people.
	Unreadable Basis = "unreadable"
	// Rejected is what the API server does not accept.
	Rejected Basis = "rejected by the API server"
	// Refused is what the manager does not install, and OLM v0 does not either.
	Refused Basis = "refused by the manager"
	// Broken is what is accepted, and does not do what it says.
	Broken Basis = "does not work"
	// UnderOLM is what OLM v0 does not get to work, and this manager does.
	UnderOLM Basis = "does not work under OLM v0"
	// Library is what OLM's validators report, which are in the Go module operator-framework/api. A cluster refuses some
	// of it. It accepts the rest, which pipelines and catalogs refuse.
	Library Basis = "operator-framework/api"
	// Policy is what works, and is better done otherwise.
	Policy Basis = "policy"
)

// Check looks for one sort of mistake.
type Check struct {
	// Code never changes: waivers and programs name it.
	Code    string
	Level   Level
	Basis   Basis
	Explain string
	find    func(*subject)
}

// Finding is a mistake in a bundle.
type Finding struct {
	Level  Level  `json:"level"`
	Code   string `json:"code"`
	Basis  Basis  `json:"basis"`
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Path   string `json:"path,omitempty"`
	What   string `json:"what"`
	Remedy string `json:"remedy,omitempty"`
	Waived string `json:"waived,omitempty"`
	// object has the finding until File and Line are set; nil for the bundle as a whole.
	object *bundle.Object
}

// Report contains all findings of a bundle.
type Report struct {
	Bundle   string    `json:"bundle"`
	Findings []Finding `json:"findings"`
}

// groups are the checks that need a ClusterServiceVersion, in the order in which people read them.
var groups = [][]Check{schemaChecks, packagingChecks, objectChecks, exposureChecks, apiChecks, webhookChecks, ruleChecks, latencyChecks, conversionChecks, backendChecks, availabilityChecks, libraryChecks}

// Checks are all checks.
func Checks() []Check {
	return slices.Concat(append([][]Check{readingChecks, waiverChecks}, groups...)...)
}

// Find is the check of a code.
func Find(code string) (Check, bool) {
	c := lists.First(Checks(), func(c Check) bool { return c.Code == code })
	return c, c.Code != ""
}

// Run applies every check to a bundle.
func Run(b *bundle.Bundle, waivers ...Waiver) Report {
	s := &subject{Bundle: b}
	found := collect(s, readingChecks)
	if b.CSV != nil {
		s.index()
		s.facts, s.library = facts(s), libraryBundle(b)
		s.verdict = requirements.Check(s.facts)
		found = append(found, collect(s, slices.Concat(groups...))...)
	}
	return Report{Bundle: b.Source, Findings: waive(sorted(found), waivers)}
}

// facts are what the manager sees once everything exists that an installer creates.
func facts(s *subject) requirements.Facts {
	facts := requirements.Facts{CSV: s.CSV, ServiceAccounts: s.accounts, CRDs: map[string]*apiextensionsv1.CustomResourceDefinition{}}
	for name, crd := range s.definitions {
		crd = crd.DeepCopy()
		for _, condition := range []apiextensionsv1.CustomResourceDefinitionConditionType{apiextensionsv1.Established, apiextensionsv1.NamesAccepted} {
			crd.Status.Conditions = append(crd.Status.Conditions, apiextensionsv1.CustomResourceDefinitionCondition{Type: condition, Status: apiextensionsv1.ConditionTrue})
		}
		facts.CRDs[name] = crd
	}
	return facts
}

// maxFindings is how many findings of one check are reported. A bundle of 1 MiB may have 100,000 of them.
const maxFindings = 2000

func collect(s *subject, checks []Check) []Finding {
	var all []Finding
	for _, c := range checks {
		s.found = nil
		c.find(s)
		found := s.found
		if n := len(found); n > maxFindings {
			last := found[maxFindings-1]
			found = append(found[:maxFindings], Finding{
				object: last.object, File: last.File, Line: last.Line, What: fmt.Sprintf("%d more findings like the previous one are not listed", n-maxFindings),
				Remedy: "correct the listed ones, and validate the bundle again",
			})
		}
		for _, f := range found {
			f.Level, f.Code, f.Basis = cmp.Or(f.Level, c.Level), c.Code, c.Basis
			if f.object != nil {
				f.File, f.Line, f.object = f.object.File, f.object.Line(f.Path), nil
			}
			all = append(all, f)
		}
	}
	return all
}

func sorted(all []Finding) []Finding {
	slices.SortStableFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Level, b.Level), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Code, b.Code), cmp.Compare(a.What, b.What))
	})
	return slices.Compact(all)
}

// Count is how many findings of a level are not waived.
func (r Report) Count(level Level) int {
	n := 0
	for _, f := range r.Findings {
		if f.Level == level && f.Waived == "" {
			n++
		}
	}
	return n
}
