package policy

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Compiled is a policy with valid patterns.
type Compiled struct {
	policy  string
	message string
	exempt  []string
	name    *pattern
	labels  []requiredLabel
}

type requiredLabel struct {
	key   string
	value *pattern
}

// pattern is an RE2 expression that matches the whole value. A nil pattern matches every value.
type pattern struct {
	source string
	whole  *regexp.Regexp
}

// Compile compiles a policy for Check. Its error names every invalid pattern. A policy is enforced
// completely or not at all, so that no user relies on a part of it.
func Compile(p *ProjectPolicy) (*Compiled, error) {
	var invalid []string
	compile := func(field, source string) *pattern {
		if source == "" {
			return nil
		}
		compiled, err := compilePattern(source)
		if err != nil {
			invalid = append(invalid, fmt.Sprintf("%s: %v", field, err))
		}
		return compiled
	}
	compiled := &Compiled{
		policy:  p.Name,
		message: p.Spec.Message,
		exempt:  p.Spec.Exempt,
		name:    compile("spec.namePattern", p.Spec.NamePattern),
	}
	for i, label := range p.Spec.RequiredLabels {
		compiled.labels = append(compiled.labels, requiredLabel{
			key:   label.Key,
			value: compile(fmt.Sprintf("spec.requiredLabels[%d].pattern", i), label.Pattern),
		})
	}
	if len(invalid) > 0 {
		return nil, errors.New(strings.Join(invalid, "; "))
	}
	return compiled, nil
}

func (c *Compiled) exempts(namespace string) bool {
	return slices.ContainsFunc(c.exempt, func(entry string) bool {
		if prefix, isPrefix := strings.CutSuffix(entry, "*"); isPrefix {
			return strings.HasPrefix(namespace, prefix)
		}
		return namespace == entry
	})
}

// compilePattern compiles the source alone first: "a)|(b" would compile in a group, with another meaning.
func compilePattern(source string) (*pattern, error) {
	if _, err := regexp.Compile(source); err != nil {
		return nil, err
	}
	whole, err := regexp.Compile(`\A(?:` + source + `)\z`)
	if err != nil {
		return nil, err
	}
	return &pattern{source: source, whole: whole}, nil
}

func (p *pattern) matches(value string) bool { return p == nil || p.whole.MatchString(value) }
