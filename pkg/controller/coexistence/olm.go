package coexistence

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
)

const (
	olmDeployment = "olm-operator"
	// olmWatches is the flag by which OLM v0 is limited to some namespaces.
	olmWatches = "watchedNamespaces"
	// NamespacesFlag is the flag by which this manager is.
	NamespacesFlag = "namespaces"
)

// RefuseOLM is an error when an OLM v0 works on the same ClusterServiceVersions.
// OLM v0 has no selector for them: two managers would undo each other's writes, and
// OLM v0 would register webhooks that do not serve yet.
func RefuseOLM(ctx context.Context, kube kubernetes.Interface, namespaces []string) error {
	running, err := kube.AppsV1().Deployments(metav1.NamespaceAll).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, olmDeployment).String(),
	})
	if err != nil {
		return fmt.Errorf("cannot see whether an OLM v0 runs in this cluster: %w", err)
	}
	for _, d := range running.Items {
		if d.Spec.Replicas != nil && *d.Spec.Replicas == 0 {
			continue
		}
		if both := overlap(listedBy(d, olmWatches), namespaces); both != "" {
			return fmt.Errorf("deployment %s/%s is an OLM v0 that watches %s too: "+
				"scale it to zero, or give each its own namespaces, this manager with --namespaces, OLM v0 with --%s", d.Namespace, d.Name, both, olmWatches)
		}
	}
	return nil
}

// LimitedTo are the namespaces that a manager is limited to by the arguments of its Deployment; none
// means all. An argument that is not the list itself, but names a variable that holds it, is an error.
func LimitedTo(d appsv1.Deployment) ([]string, error) {
	namespaces := listedBy(d, NamespacesFlag)
	for _, namespace := range namespaces {
		if strings.Contains(namespace, "$(") {
			return nil, fmt.Errorf("deployment %s/%s has the argument --%s=%s, whose value stands elsewhere: name the namespaces with --%[3]s", d.Namespace, d.Name, NamespacesFlag, namespace)
		}
	}
	return namespaces, nil
}

// listedBy is the list that the containers of a Deployment are given by a flag, however often.
func listedBy(d appsv1.Deployment, flag string) (listed []string) {
	for _, container := range d.Spec.Template.Spec.Containers {
		arguments := slices.Concat(container.Command, container.Args)
		for i, argument := range arguments {
			name, value, joined := strings.Cut(strings.TrimLeft(argument, "-"), "=")
			if name != flag || !strings.HasPrefix(argument, "-") {
				continue
			}
			if !joined && i+1 < len(arguments) {
				value = arguments[i+1]
			}
			listed = append(listed, strings.FieldsFunc(value, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })...)
		}
	}
	return listed
}

func overlap(theirs, ours []string) string {
	switch {
	case len(theirs) == 0 && len(ours) == 0:
		return "all namespaces"
	case len(theirs) == 0:
		return "namespaces " + strings.Join(ours, ", ")
	case len(ours) == 0:
		return "namespaces " + strings.Join(theirs, ", ")
	}
	both := slices.DeleteFunc(slices.Clone(ours), func(namespace string) bool { return !slices.Contains(theirs, namespace) })
	if len(both) == 0 {
		return ""
	}
	return "namespaces " + strings.Join(both, ", ")
}
