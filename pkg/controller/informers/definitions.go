package informers

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// OperatorConditionsCRD is the name of the CRD of OperatorConditions.
const OperatorConditionsCRD = "operatorconditions.operators.coreos.com"

// Established reports whether the API server serves a CRD.
func Established(crd *apiextensionsv1.CustomResourceDefinition) bool {
	for _, condition := range crd.Status.Conditions {
		if condition.Type == apiextensionsv1.Established {
			return condition.Status == apiextensionsv1.ConditionTrue
		}
	}
	return false
}
