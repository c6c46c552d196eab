package policy

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Compiled is a policy whose patterns are all valid, ready to be checked.
type Compiled struct {
	policy  string
	message string
	exempt  []string
	name    *pattern
	labels  []requiredLabel
}

// requiredLabel is a RequiredLabel with its pattern compiled.
type requiredLabel struct {
	key   string
	value *pattern
}

// pattern is an RE2 expression as its author wrote it, for messages, and as it
// is applied, to the whole value. A nil pattern asks for nothing.
type pattern struct {
	source string
	whole  *regexp.Regexp
}

// Compile prepares a policy for Check. Its error names every pattern that is
// not valid: a policy is in force as a whole or not at all, so that no user
// takes one half of it for all of it.
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

// exempts reports whether the policy leaves the namespace of this name alone.
func (c *Compiled) exempts(namespace string) bool {
	return slices.ContainsFunc(c.exempt, func(entry string) bool {
		if prefix, isPrefix := strings.CutSuffix(entry, "*"); isPrefix {
			return strings.HasPrefix(namespace, prefix)
		}
		return namespace == entry
	})
}

// compilePattern compiles the source by itself before it is anchored: wrapped
// in a group, "a)|(b" would compile, and not mean what it says.
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

// matches reports whether the whole value matches.
func (p *pattern) matches(value string) bool {
	return p == nil || p.whole.MatchString(value)
}
