package decide

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs/issuers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

func (c *certifier) fromCertManager(issuer issuers.Issuer) (issuance, error) {
	policy, _ := c.policy()
	facts := issuers.CertManagerFacts{
		Installed: c.Requestable[managerv1alpha1.ProviderCertManager],
		Request: issuers.CertManagerRequest{
			Service: c.service, Names: certs.DNSNames(c.service, c.CSV.Namespace), Issuer: issuer,
			Validity: policy.Validity, RenewBefore: policy.RenewBefore, Key: policy.Key, Meta: csvspec.OwnedMeta(c.CSV, ""),
		},
		Objects: map[string]*unstructured.Unstructured{},
	}
	secret, err := c.secret(names.Issued(names.Secret(c.service)))
	if err != nil {
		return issuance{}, err
	}
	facts.Secret = secret
	i := issuance{}
	if facts.Installed {
		if i, err = c.requestFromCertManager(&facts); err != nil || i.refusal != "" {
			return issuance{refusal: i.refusal, requeue: i.requeue}, err // another client's issuer would sign
		}
	}
	i.Finding, i.secret = issuers.FromCertManager(facts), secret
	i.steps = append(i.steps, c.adoptIssued(secret)...)
	i.steps = append(i.steps, c.adoptIssued(c.Issued[names.Issued(names.CA(c.service))])...)
	return i, nil
}

// removeCertManager deletes the objects of the request.
func (c *certifier) removeCertManager() (steps []rollout.Step, waits bool, err error) {
	if !c.Requestable[managerv1alpha1.ProviderCertManager] {
		return nil, false, nil
	}
	request := issuers.CertManagerRequest{Service: c.service, Meta: csvspec.OwnedMeta(c.CSV, "")}
	keys := lists.Map(request.Objects(), keyOf)
	objects, err := c.watched(keys...)
	for _, key := range keys {
		steps = append(steps, c.deleteOwned(objects[key].Live)...)
	}
	return steps, false, err
}

// requestFromCertManager compares what is requested from cert-manager with the live objects.
func (c *certifier) requestFromCertManager(facts *issuers.CertManagerFacts) (i issuance, err error) {
	caches := []ObjectKey{{Resource: issuers.Certificates}, {Resource: issuers.Issuers}, {Resource: issuers.ClusterIssuers}}
	issuer, known := c.issuerKey(facts.Request.Issuer)
	keys := caches
	if known {
		keys = append(keys, issuer)
	}
	requested := facts.Request.Objects()
	objects, err := c.watched(append(keys, lists.Map(requested, keyOf)...)...)
	if err != nil {
		return issuance{}, err
	}
	for _, cache := range caches {
		if !objects[cache].Cached {
			return issuance{requeue: retryAt(objects[cache].Since, c.now)}, nil
		}
	}
	for _, desired := range requested {
		if live := c.requestObject(&i, desired, objects[keyOf(desired)].Live); live != nil {
			facts.Objects[desired.GetKind()+" "+desired.GetName()] = live
		}
	}
	if known {
		facts.Issuer = objects[issuer].Live
	}
	return i, nil
}

// issuerKey returns the key of an issuer. The kinds of other groups than cert-manager's are not known.
func (c *certifier) issuerKey(named issuers.Issuer) (key ObjectKey, known bool) {
	switch {
	case named.Group != issuers.Issuers.Group:
		return ObjectKey{}, false
	case named.Kind == "ClusterIssuer":
		return ObjectKey{issuers.ClusterIssuers, "", named.Name}, true
	default:
		return ObjectKey{issuers.Issuers, c.CSV.Namespace, named.Name}, true
	}
}

// occupied reports a Certificate of cert-manager that issues into a Secret of the manager: each reverts the other.
func (c *certifier) occupied(secret *corev1.Secret) (string, error) {
	if secret == nil || issuers.IssuedBy(secret) != managerv1alpha1.ProviderCertManager || !c.Requestable[managerv1alpha1.ProviderCertManager] {
		return "", nil
	}
	name := issuers.CertificateOf(secret)
	certificate := types.NamespacedName{Namespace: secret.Namespace, Name: name}
	target, known := c.answers.Targets[certificate]
	if !known {
		return "", c.ask(ReadTarget{certificate})
	}
	if target != secret.Name {
		return "", nil
	}
	return fmt.Sprintf("Certificate %s/%s issues into Secret %s, which the chosen provider needs; nothing changes until you delete it: kubectl -n %[1]s delete certificates.cert-manager.io %[2]s",
		secret.Namespace, name, secret.Name), nil
}
