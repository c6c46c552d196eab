package takeover

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"
)

// parseCSV reads the name of a ClusterServiceVersion, NAMESPACE/NAME.
func parseCSV(text string) (types.NamespacedName, error) {
	namespace, name, valid := strings.Cut(text, "/")
	if !valid {
		return types.NamespacedName{}, fmt.Errorf("%q: write a ClusterServiceVersion as NAMESPACE/NAME", text)
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}

// addCSVs adds a flag that names ClusterServiceVersions, and may be repeated.
func addCSVs(flags *pflag.FlagSet, all *[]types.NamespacedName, name, usage string) {
	flags.Func(name, usage, func(text string) error {
		csv, err := parseCSV(text)
		if err != nil {
			return err
		}
		*all = append(*all, csv)
		return nil
	})
}
