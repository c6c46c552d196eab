package scale

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// BenchmarkNamespaces installs ClusterServiceVersions whose OperatorGroups select Namespaces by label. The processor
// time of an installation must not grow with the number of Namespaces.
func BenchmarkNamespaces(b *testing.B) {
	if !cluster.Audit.Available() {
		b.Skip("a whole cluster has controllers of its own for what this plays: unset KUBECONFIG")
	}
	const size, more = 100, 1000
	b.Run(fmt.Sprintf("csvs=%d,namespaces=%d", size, more), func(b *testing.B) {
		for b.Loop() {
			e := newEnv(b)
			e.playDeployments(0) // of all Namespaces
			alone := e.installSelected(size, 0)
			crowded := newEnv(b).installSelected(size, more)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(alone.processor, "cpu-ms/CSV-alone")
			b.ReportMetric(crowded.processor, "cpu-ms/CSV")
			b.ReportMetric(crowded.processor/alone.processor, "x-cpu")
			b.ReportMetric(crowded.floors, "x-floor")
			staysBelow(b, mostFloors, crowded.floors, "installed in", "floors")
			staysBelow(b, mostGrowth, crowded.processor/alone.processor, "an installation takes of the processor", "times what it takes without those Namespaces")
		}
	})
}

type cost struct {
	processor float64 // milliseconds for each of them
	floors    float64
}

func (e *env) installSelected(size, more int) cost {
	e.Helper()
	m := e.startManager()
	defer m.stop()
	others := e.selectByLabel(more)
	defer e.removeNamespaces(others)
	e.quiet(m)
	csvs := e.csvs(size, 0)
	for _, csv := range csvs {
		csv.Spec.InstallModes = append(csv.Spec.InstallModes, operatorsv1alpha1.InstallMode{Type: operatorsv1alpha1.InstallModeTypeMultiNamespace, Supported: true})
	}

	before := m.value("process_cpu_seconds_total")
	installing := e.timed(func() {
		e.each(csvs, e.createCSV)
		e.allSucceed(csvs)
	})
	processor := 1000 * (m.value("process_cpu_seconds_total") - before) / float64(size)
	m.stop()
	floor := e.floor(csvs)
	e.clear()
	return cost{processor, installing.Seconds() / floor.Seconds()}
}

const labelSelectedBy = "scale.example.com/selected-by"

// selectByLabel makes more Namespaces, and returns them when each is labelled as a target of the group that selects it.
func (e *env) selectByLabel(more int) []string {
	e.Helper()
	others := make([]string, more)
	todo := make(chan func() error, more+len(e.namespaces))
	for i := range others {
		todo <- func() error {
			ns, err := e.kube.CoreV1().Namespaces().Create(e.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
				GenerateName: "more-", Labels: map[string]string{labelSelectedBy: e.namespaces[i%len(e.namespaces)]},
			}}, metav1.CreateOptions{})
			others[i] = ns.GetName()
			return err
		}
	}
	for _, namespace := range e.namespaces {
		todo <- func() error { return e.selects(namespace) }
	}
	close(todo)
	e.do(todo)
	e.eventually("every Namespace is labelled as a target", func() (bool, error) {
		labelled := 0
		for _, namespace := range e.namespaces {
			group, err := e.olm.OperatorGroups(namespace).Get(e.ctx, "own", metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			list, err := e.kube.CoreV1().Namespaces().List(e.ctx, metav1.ListOptions{LabelSelector: labelSelectedBy + "=" + namespace + ",olm.operatorgroup.uid/" + string(group.UID)})
			if err != nil {
				return false, err
			}
			labelled += len(list.Items)
		}
		return labelled == more+len(e.namespaces), nil
	})
	return others
}

// selects has a Namespace's group select it by label, and others that have it.
func (e *env) selects(namespace string) error {
	labelled := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, labelSelectedBy, namespace)
	if _, err := e.kube.CoreV1().Namespaces().Patch(e.ctx, namespace, types.MergePatchType, labelled, metav1.PatchOptions{}); err != nil {
		return err
	}
	group, err := e.olm.OperatorGroups(namespace).Get(e.ctx, "own", metav1.GetOptions{})
	if err != nil {
		return err
	}
	group.Spec = operatorsv1.OperatorGroupSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{labelSelectedBy: namespace}}}
	_, err = e.olm.OperatorGroups(namespace).Update(e.ctx, group, metav1.UpdateOptions{})
	return err
}

func (e *env) removeNamespaces(namespaces []string) {
	e.Helper()
	client := e.kube.CoreV1().Namespaces()
	todo := make(chan func() error, len(namespaces))
	for _, name := range namespaces {
		todo <- func() error {
			if err := client.Delete(e.ctx, name, metav1.DeleteOptions{}); err != nil {
				return err
			}
			ns, err := client.Get(e.ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			ns.Spec.Finalizers = nil
			_, err = client.Finalize(e.ctx, ns, metav1.UpdateOptions{})
			return err
		}
	}
	close(todo)
	e.do(todo)
}
