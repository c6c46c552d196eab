package convert

import (
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"
)

// aside is appended to the name of an annotation that a user has set under a name which a conversion
// writes. The conversion back removes it.
const aside = ".kept"

// restored takes an annotation away and returns what it holds. An annotation that holds no spec, or one
// that the version's schema refuses, was not written by a conversion of a valid object: it stays. The API server
// validates what a client writes, in the version of the request, and not what a conversion makes of it.
func restored(annotations map[string]string, name string, spec object) values {
	text, exists := annotations[name]
	held, valid := specIn(text, spec)
	if exists && !valid {
		return values{}
	}
	delete(annotations, name)
	rename(annotations, name, func(of string) string { return strings.TrimSuffix(of, aside) })
	if held == nil {
		held = values{}
	}
	return held
}

// kept leaves what was not translated in an annotation. An annotation of the user's own under that
// name is kept under another one.
func kept(annotations map[string]string, name string, rest values, spec object) error {
	text, exists := annotations[name]
	if _, valid := specIn(text, spec); len(rest) == 0 && exists && !valid {
		return nil // the conversion back does not restore it
	}
	rename(annotations, name, func(of string) string { return of + aside })
	if len(rest) == 0 {
		return nil
	}
	encoded, err := json.Marshal(rest)
	if err != nil {
		return fmt.Errorf("keeping what the other version has no fields for: %w", err)
	}
	annotations[name] = string(encoded)
	return nil
}

// specIn returns the spec that an annotation holds, and whether the schema allows it.
func specIn(text string, spec object) (values, bool) {
	var held map[string]any
	if err := json.Unmarshal([]byte(text), &held); err != nil || held == nil {
		return nil, false
	}
	return held, spec.allows(held)
}

// rename gives another name to an annotation and to all that are set aside under it.
func rename(annotations map[string]string, name string, to func(string) string) {
	renamed := map[string]string{}
	for of, text := range annotations {
		if strings.ReplaceAll(of, aside, "") == name && strings.HasPrefix(of, name) {
			renamed[to(of)] = text
			delete(annotations, of)
		}
	}
	maps.Copy(annotations, renamed)
}
