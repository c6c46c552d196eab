package drift

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestDecisiveFields(t *testing.T) {
	name := metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"a": "b"}}
	for want, objects := range map[string][2]Object{
		"subjects":                    {&rbacv1.RoleBinding{ObjectMeta: name, Subjects: []rbacv1.Subject{{Kind: "User", Name: "a"}}}, &rbacv1.RoleBinding{ObjectMeta: name}},
		"metadata.labels.olm.managed": {&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"olm.managed": "true"}}}, &corev1.Service{ObjectMeta: name}},
		"":                            {&corev1.Service{ObjectMeta: name}, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}},
		"data.key":                    {&corev1.Secret{ObjectMeta: name, Data: map[string][]byte{"key": []byte("a")}}, &corev1.Secret{ObjectMeta: name, Data: map[string][]byte{"key": []byte("b")}}},
	} {
		drift, refused := WriteOf(objects[0], objects[1]).Refused()
		if got := strings.Join(drift.Fields, ", "); got != want || refused != (want != "") {
			t.Errorf("refused %t: %q, want %q", refused, got, want)
		}
	}
}
