package hosting

import (
	"fmt"
	"slices"
)

// selectNames returns those of the known names that a flag switches on: "*" is all, "-x"
// is not x, and "x" is x, whatever else there is.
func selectNames(flag string, selectors, known []string) ([]string, error) {
	on := map[string]bool{}
	all := slices.Contains(selectors, "*")
	for _, name := range known {
		switch {
		case slices.Contains(selectors, name):
			on[name] = true
		case slices.Contains(selectors, "-"+name):
		default:
			on[name] = all
		}
	}
	for _, s := range selectors {
		if s != "*" && !slices.Contains(known, s) && !(len(s) > 0 && s[0] == '-' && slices.Contains(known, s[1:])) {
			return nil, fmt.Errorf("--%s: there is no %q: name %s, with a - before it to switch it off, or * for all", flag, s, quoted(known))
		}
	}
	var names []string
	for _, name := range known {
		if on[name] {
			names = append(names, name)
		}
	}
	return names, nil
}
