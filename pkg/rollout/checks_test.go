package rollout

import (
	"os"
	"path"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// docs/admin/configure.md lists the checks in their order.
func TestChecksAreDocumented(t *testing.T) {
	page := installtest.OrPanic(os.ReadFile("../../docs/admin/configure.md"))
	_, section, _ := strings.Cut(string(page), "| check | condition | reason |")
	section, _, _ = strings.Cut(section, "\n\n")
	var documented, checked []string
	for _, row := range regexp.MustCompile(`(?m)^\| (\w+) \|`).FindAllStringSubmatch(section, -1) {
		documented = append(documented, row[1])
	}
	for _, c := range slices.Concat(writeChecks, callChecks) {
		name := runtime.FuncForPC(reflect.ValueOf(c.run).Pointer()).Name()
		checked = append(checked, strings.TrimPrefix(path.Ext(name), "."))
	}
	installtest.Same(t, "the documented checks", checked, documented)
}
