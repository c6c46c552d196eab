package e2e

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// managerVersion is a version of the manager: the folder that has its manifests, and the overlay in it that has its image.
type managerVersion struct{ name, folder, overlay string }

// releasedVersions returns the versions in hack/released.txt, which hack/released.sh has built.
func releasedVersions(t *testing.T) (all []managerVersion) {
	t.Helper()
	const file = "hack/released.txt"
	text, err := os.ReadFile("../../" + file)
	installtest.Must(t, err)
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		version, commit, _ := strings.Cut(strings.TrimSpace(line), " ")
		folder := filepath.Join("../../out/released", commit)
		if _, err := os.Stat(folder); err != nil {
			if isShallow(t) {
				t.Skipf("%s of %s: this clone is shallow: git fetch --unshallow", version, file)
			}
			t.Fatalf("%s of %s is not built: run the test by hack/e2e.sh, which builds it: %v", version, file, err)
		}
		all = append(all, managerVersion{version, folder, "."})
	}
	if len(all) == 0 {
		t.Fatalf("%s has no version", file)
	}
	return all
}

func isShallow(t *testing.T) bool {
	t.Helper()
	answer, err := exec.CommandContext(t.Context(), "git", "rev-parse", "--is-shallow-repository").Output()
	installtest.Must(t, err)
	return strings.TrimSpace(string(answer)) == "true"
}

// kubectl runs a command in the folder of the version.
func (v managerVersion) kubectl(e *env, command string) (output string) {
	e.Helper()
	var problems bytes.Buffer
	cmd := exec.CommandContext(e.ctx, "bash", "-c", command)
	cmd.Dir, cmd.Stderr = v.folder, &problems
	printed, err := cmd.Output()
	if err != nil {
		e.Fatalf("%s, in %s: %v\n%s", command, v.folder, err, &problems)
	}
	return string(printed)
}

// replaces runs the commands of the guide for an overlay, and deletes the objects that only the previous version has.
func replaces(e *env, previous, next managerVersion) {
	e.Helper()
	for _, command := range upgradeCommands(e) {
		next.kubectl(e, strings.Replace(command, "-k manifests/manager", "-k "+next.overlay, 1))
	}
	desired := next.objects(e)
	for _, o := range previous.objects(e) {
		if !slices.Contains(desired, o) {
			e.kubectl("delete", o.kind, o.name, "-n", o.namespace)
		}
	}
}

// upgradeCommands returns the commands of docs/admin/upgrade.md that apply manifests.
func upgradeCommands(e *env) []string {
	e.Helper()
	page, err := os.ReadFile("../../docs/admin/upgrade.md")
	e.must(err)
	_, section, _ := strings.Cut(string(page), "\n## From the source\n")
	section, _, _ = strings.Cut(section, "\n## ")
	commands := lists.Filter(commandsOf(section, false), func(command string) bool { return strings.HasPrefix(command, "kubectl apply ") })
	installtest.Same(e, "commands of the guide that apply manifests", 2, len(commands))
	return commands
}

type identity struct{ kind, namespace, name string }

// objects returns what the overlay of a version contains.
func (v managerVersion) objects(e *env) (all []identity) {
	e.Helper()
	for _, text := range strings.Split(v.kubectl(e, "kubectl kustomize "+v.overlay), "\n---\n") {
		var object metav1.PartialObjectMetadata
		e.must(yaml.Unmarshal([]byte(text), &object))
		all = append(all, identity{object.Kind, object.Namespace, object.Name})
	}
	return all
}

// managerLogs are the errors that pods of the manager log.
type managerLogs struct {
	mutex    sync.Mutex
	followed []string
	wrong    []string
}

// follow reads the logs of the pods that are not followed yet, until they or the test end.
func (l *managerLogs) follow(e *env) {
	e.Helper()
	for _, pod := range e.managerPods() {
		if slices.Contains(l.followed, pod.Name) {
			continue
		}
		l.followed = append(l.followed, pod.Name)
		stream, err := kubeClient.CoreV1().Pods(managerNamespace).GetLogs(pod.Name, &corev1.PodLogOptions{Follow: true}).Stream(e.ctx)
		e.must(err)
		go func() {
			defer stream.Close()
			for lines := bufio.NewScanner(stream); lines.Scan(); {
				l.add(pod.Name, lines.Text())
			}
		}()
	}
}

func (l *managerLogs) add(pod, line string) {
	isOwn, isOfClientGo := strings.Contains(line, " level=error "), strings.HasPrefix(line, "E")
	// A process that ends cancels its request for the lease, and client-go logs that.
	ends := isOfClientGo && strings.Contains(line, `"Error retrieving lease lock" err="context canceled"`)
	if isOwn || isOfClientGo && !ends {
		l.mutex.Lock()
		defer l.mutex.Unlock()
		l.wrong = append(l.wrong, pod+": "+line)
	}
}

func (l *managerLogs) errors() []string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return slices.Clone(l.wrong)
}
