package hosting

import (
	"fmt"
	"slices"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/quote"
)

// selectNames selects all names for "*", all except x for "-x", and x for "x" regardless of other values.
func selectNames(flag string, selectors, known []string) ([]string, error) {
	for _, s := range selectors {
		if s != "*" && !slices.Contains(known, s) && !(len(s) > 0 && s[0] == '-' && slices.Contains(known, s[1:])) {
			return nil, fmt.Errorf("--%s: unknown name %q: use %s, with a - before the name to exclude it, or * for all", flag, s, quote.List(known))
		}
	}
	var names []string
	all := slices.Contains(selectors, "*")
	for _, name := range known {
		if slices.Contains(selectors, name) || all && !slices.Contains(selectors, "-"+name) {
			names = append(names, name)
		}
	}
	return names, nil
}
