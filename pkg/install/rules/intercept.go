package rules

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
)

func CoversExtent(r admissionregistrationv1.RuleWithOperations, e Extent) bool {
	if r.Scope == nil || *r.Scope == admissionregistrationv1.AllScopes || e == Unknown {
		return true
	}
	return (*r.Scope == admissionregistrationv1.NamespacedScope) == (e == Namespaced)
}
