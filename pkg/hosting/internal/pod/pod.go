// Package pod finds the pod that the process runs in and the pods of its namespace.
package pod

import (
	"context"
	"crypto/x509"
	"os"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
)

// Namespace returns the namespace of the process's pod, or an empty string outside a pod.
func Namespace() string {
	if namespace := os.Getenv("POD_NAMESPACE"); namespace != "" {
		return namespace
	}
	namespace, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	if err != nil {
		return ""
	}
	return string(namespace)
}

// Owner returns the name of a pod in the CA of the certificate that this pod alone serves.
func Owner(namespace, uid string) string { return namespace + "/" + uid }

// Own returns the Owner of the process's pod; "" if the pod cannot be read: then the CA leaves caBundles when it expires.
func Own(ctx context.Context, client kubernetes.Interface) string {
	name, err := os.Hostname()
	namespace := Namespace()
	if err != nil || namespace == "" {
		return ""
	}
	pod, err := client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		klog.V(2).InfoS("Cannot read the pod of this process", "pod", klog.KRef(namespace, name), "err", err)
		return ""
	}
	return Owner(namespace, string(pod.UID))
}

// List is the pods of one namespace that exist.
type List struct {
	namespace string
	uids      sets.Set[string]
}

// NewList returns a List of the pods with the UIDs.
func NewList(namespace string, uids ...string) *List {
	return &List{namespace: namespace, uids: sets.New(uids...)}
}

// ReadList lists the pods of the process's namespace. It returns nil if that is not allowed, or if
// the list does not contain the process's own pod, which its CAs name.
func ReadList(ctx context.Context, client kubernetes.Interface, own []*x509.Certificate) *List {
	namespace := Namespace()
	if namespace == "" {
		return nil
	}
	list, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		klog.V(2).InfoS("Cannot list the pods", "namespace", namespace, "err", err)
		return nil
	}
	pods := NewList(namespace)
	for i := range list.Items {
		pods.uids.Insert(string(list.Items[i].UID))
	}
	if slices.ContainsFunc(own, pods.Deleted) {
		return nil // this process runs: the list contains other pods
	}
	return pods
}

// Deleted reports whether the pod whose certificate a CA signed no longer exists. It returns false
// if that is unknown: if the CA names no pod, or a pod of another namespace.
func (l *List) Deleted(ca *x509.Certificate) bool {
	if l == nil || len(ca.Subject.OrganizationalUnit) != 1 {
		return false
	}
	namespace, uid, named := strings.Cut(ca.Subject.OrganizationalUnit[0], "/")
	return named && namespace == l.namespace && !l.uids.Has(uid)
}
