package audit

import (
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const mayBeSelected = "namespaceSelector does not select the Namespace now: the labels or the selector may have changed since"

// concerns reports whether a request was one to this webhook: another operator's webhook may have the same name. The labels of now
// are no proof against a request whose line names the webhook.
func (m matcher) concerns(w logged) truth {
	o, named := m.object(w), w.passedWithout(m.Name)
	p := past{operation: w.operation, subresource: w.subresource, object: o}
	switch {
	case o.Resource.Kind.Empty() || w.operation == admissionregistrationv1.Connect || !m.hadNamespace(w):
		return of(named)
	case m.selects(p, nil):
		return isTrue
	case named && m.selectsByRules(p) && !m.isOfNamesake(p):
		return perhaps(mayBeSelected)
	default:
		return isFalse
	}
}

// hadNamespace reports whether the Namespace of a request is known: it exists, and no later one has its name.
func (m matcher) hadNamespace(w logged) bool {
	return w.namespace == "" || slices.ContainsFunc(m.served.Namespaces, func(ns corev1.Namespace) bool {
		return ns.Name == w.namespace && !ns.CreationTimestamp.After(w.answered)
	})
}

func (m matcher) selectsByRules(p past) bool {
	w := *m.Declared
	w.NamespaceSelector = &metav1.LabelSelector{}
	return m.sentTo(w, p, nil)
}

func (m matcher) isOfNamesake(p past) bool {
	return slices.ContainsFunc(m.Namesakes, func(w admissionregistrationv1.ValidatingWebhook) bool { return m.sentTo(w, p, nil) })
}
