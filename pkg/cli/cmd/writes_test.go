package cmd

import (
	"go/ast"
	"slices"
	"strings"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/sourcetest"
)

// The files that write to a cluster, each with its reason. A new command installs and removes through pkg/cli/installer.
// The linter forbids the import of pkg/controller in other commands than those of the manager.
var writers = map[string]string{
	"pkg/cli/cluster/admission.go":       "questions to the API server",
	"pkg/cli/cluster/auditreplay.go":     "dry runs, of which the client sends no others",
	"pkg/cli/cluster/portforward.go":     "a connection to a pod, which changes no object",
	"pkg/cli/installer/access.go":        "a question to the API server",
	"pkg/cli/installer/apply.go":         "a confirmed plan",
	"pkg/cli/installer/definitions.go":   "a confirmed plan",
	"pkg/cli/installer/dryrun.go":        "dry runs",
	"pkg/cli/installer/records.go":       "the record of a confirmed plan",
	"pkg/cli/installer/uninstall.go":     "a confirmed removal",
	"pkg/cli/cmd/certificates/rotate.go": "the command names it",
	"pkg/cli/cmd/manager/remove.go":      "the command lists it before the question",
	"pkg/cli/cmd/manager/stopping.go":    "the command lists it before the question",
	"pkg/cli/cmd/storage/cluster.go":     "the command names it",
	"pkg/cli/cmd/takeover/writes.go":     "the command lists it before the question",
	"pkg/cli/cluster/takeoveraccess.go":  "a question to the API server",
}

func TestCommandsWriteInKnownPlaces(t *testing.T) {
	used := map[string]bool{}
	for name, file := range sourcetest.Parsed(t, "pkg/cli", "cmd") {
		if writes := clusterWrites(file); len(writes) > 0 {
			if used[name] = true; writers[name] == "" {
				t.Errorf("%s writes to a cluster: %s", name, strings.Join(writes, ", "))
			}
		}
	}
	for name := range writers {
		installtest.Same(t, name+" of the list writes", true, used[name])
	}
}

// The methods by which clients write. The name of an object and options are further arguments of all but the last group.
var (
	verbs = []string{
		"Create", "Update", "UpdateStatus", "UpdateScale", "UpdateApproval", "UpdateEphemeralContainers", "UpdateResize",
		"Patch", "Apply", "ApplyStatus", "ApplyScale", "Delete", "DeleteCollection",
		"Evict", "EvictV1", "EvictV1beta1", "Bind", "CreateToken", "CreateWithEventNamespace", "PatchWithEventNamespace", "Finalize",
	}
	ofRequests = []string{"Post", "Put", "Patch", "Delete", "Verb"} // of a REST client: they begin a request
)

// uninstalls is the package of the controller that removes what the manager has written.
const uninstalls = "github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/uninstall"

// clusterWrites returns the calls by which clients write, and the removal of the manager. Functions of the standard library are none.
func clusterWrites(file *ast.File) (calls []string) {
	imports := sourcetest.Imports(file)
	ast.Inspect(file, func(n ast.Node) bool {
		call, is := n.(*ast.CallExpr)
		if !is {
			return true
		}
		method, is := call.Fun.(*ast.SelectorExpr)
		if !is || isStandard(sourcetest.PackageOf(imports, method)) {
			return true
		}
		name, arguments := method.Sel.Name, len(call.Args)
		request := slices.Contains(ofRequests, name) && (arguments == 0 || name == "Verb" || ofRESTClient(method.X))
		removal := name == "Manager" && sourcetest.PackageOf(imports, method) == uninstalls
		if removal || request || slices.Contains(verbs, name) && arguments >= 2 {
			calls = append(calls, sourcetest.Text(method))
		}
		return true
	})
	return calls
}

func isStandard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return imported != "" && !strings.Contains(first, ".")
}

// ofRESTClient reports whether an expression is, or calls methods of, the result of RESTClient.
func ofRESTClient(e ast.Expr) bool { return strings.Contains(sourcetest.Text(e), "RESTClient()") }

func TestClusterWrites(t *testing.T) {
	const head = "package p\nimport (\"maps\"; \"os\"; \"net/http\"; \"" + uninstalls + "\")\nvar v = "
	for text, want := range map[string]int{
		`pods.Delete(context.Background(), name, options)`:                              1,
		`pods.Delete(within(ctx), name, options)`:                                       1,
		`kube.CoreV1().Pods(n).EvictV1(any, eviction)`:                                  1,
		`kube.CertificatesV1().CertificateSigningRequests().UpdateApproval(a, b, c, d)`: 1,
		`kube.CoreV1().RESTClient().Post().Resource("pods")`:                            1,
		`rest.Verb("POST").Do(ctx)`:                                                     1,
		`rest.Put().Do(ctx)`:                                                            1,
		`kube.CoreV1().RESTClient().Patch(types.MergePatchType).Do(ctx)`:                1,
		`uninstall.Manager(ctx, set, log)`:                                              1,
		`uninstall.ManagerPlan(ctx, config)`:                                            0,
		`client.Create(ctx, object)`:                                                    1,
		`kube.CoreV1().RESTClient().Get().Do(ctx)`:                                      0,
		`pods.Get(ctx, name, options)`:                                                  0,
		`os.Create(name)`:                                                               0,
		`http.Post(url, kind, body)`:                                                    0,
		`set.Delete(a)`:                                                                 0,
		`set.Delete(all...)`:                                                            0,
	} {
		got := clusterWrites(sourcetest.Parse(t, "p.go", head+text))
		installtest.Same(t, text, want, len(got))
	}
}
