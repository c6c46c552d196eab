package convert

import (
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"
)

// aside is appended to the name of an annotation that a user has set under a name that a conversion
// writes. The conversion back removes it.
const aside = ".kept"

// restored removes an annotation and returns its spec. An invalid spec was not written by a conversion, and stays. The
// API server validates what a client writes in the version of the request, and not the result of a conversion.
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

// kept stores unconverted fields in an annotation. A user's annotation of that name gets another name.
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

func specIn(text string, spec object) (values, bool) {
	var held map[string]any
	if err := json.Unmarshal([]byte(text), &held); err != nil || held == nil {
		return nil, false
	}
	return held, spec.allows(held)
}

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
