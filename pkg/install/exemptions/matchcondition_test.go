package exemptions

import (
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubernetes "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	webhooks "k8s.io/apiserver/pkg/admission/plugin/webhook"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// call is a request to the API server. Without an operation it creates, without a
// user the replicaset controller sends it.
type call struct {
	group, resource, subresource string
	namespace, name              string
	operation                    admission.Operation
	object, oldObject            runtime.Object
	user                         string
	groups                       []string
}

var baseEnv = environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())

// matcherOf is the API server's own code for the conditions of a webhook.
func matcherOf(conditions []admissionregistrationv1.MatchCondition) matchconditions.Matcher {
	w := &admissionregistrationv1.ValidatingWebhook{FailurePolicy: new(admissionregistrationv1.Fail), MatchConditions: conditions}
	return webhooks.NewValidatingWebhookAccessor("uid", "configuration", w).GetCompiledMatcher(cel.NewConditionCompiler(baseEnv))
}

func calls(t *testing.T, matcher matchconditions.Matcher, r call) bool {
	t.Helper()
	kind := schema.GroupVersionKind{Group: r.group, Version: "v1", Kind: r.resource}
	attributes := admission.NewAttributesRecord(r.object, r.oldObject, kind, r.namespace, r.name,
		schema.GroupVersionResource{Group: r.group, Version: "v1", Resource: r.resource}, r.subresource, r.operation, nil, false,
		&user.DefaultInfo{Name: r.user, Groups: r.groups})
	versioned := &admission.VersionedAttributes{Attributes: attributes, VersionedObject: r.object, VersionedOldObject: r.oldObject, VersionedKind: kind}
	result := matcher.Match(t.Context(), versioned, nil, nil)
	installtest.Must(t, result.Error)
	return result.Matches
}

func conditionsOf(in Input) []admissionregistrationv1.MatchCondition {
	named := lists.Filter(exemptions(in), func(e Exemption) bool { return e.who != "" })
	return lists.Map(named, Exemption.MatchCondition)
}

// pod is what a ReplicaSet of this name controls.
func podOf(replicaSet string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		GenerateName: replicaSet + "-", Labels: map[string]string{"app": "manager"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: replicaSet, Controller: new(true)}},
	}}
}

func permissionOf(labels map[string]string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Labels: labels}}
}

func controlledBy(kind, name string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		OwnerReferences: []metav1.OwnerReference{{Kind: kind, Name: name, Controller: new(true)}},
	}}
}

func claimedVolume(claim string) corev1.Volume {
	return corev1.Volume{Name: claim, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}
}

const (
	replicaSets = "system:serviceaccount:kube-system:replicaset-controller"
	daemonSets  = "system:serviceaccount:kube-system:daemon-set-controller"
	kubelet     = "system:node:one"
	tenant      = "tenant"
)

func TestConditions(t *testing.T) {
	in := guardedBy(installtest.ServedBy("manager"))
	in.CSV.Spec.APIServiceDefinitions.Owned = owningPonds("manager")
	pod := &in.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Template.Spec
	pod.Volumes = append(pod.Volumes, claimedVolume("data"))
	pod.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpus", ResourceClaimName: new("gpus")}}
	in.Config.Volumes = []corev1.Volume{claimedVolume("more")}
	matcher := matcherOf(conditionsOf(in))
	nodes, nobody := []string{"system:nodes"}, &metav1.PartialObjectMetadata{}
	ours, other := podOf("manager-6d4cf56db6"), podOf("other-6d4cf56db6")
	standing := ours.DeepCopy()
	standing.Name = "manager-6d4cf56db6-x7k2p"
	evil := podOf("manager-6d4cf56db6-evil")
	onlyLabels := ours.DeepCopy()
	onlyLabels.OwnerReferences = nil
	liftedBefore := map[string]string{wellknown.LabelGrantedPermissions: "true", wellknown.LabelOwner: "shop.v0", wellknown.LabelOwnerNamespace: "shop"}
	addressOf := func(namespace, service string) *networkingv1.IPAddress {
		return &networkingv1.IPAddress{Spec: networkingv1.IPAddressSpec{ParentRef: &networkingv1.ParentReference{Resource: "services", Namespace: namespace, Name: service}}}
	}
	volumeOf := func(namespace, claim string) *corev1.PersistentVolume {
		return &corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{ClaimRef: &corev1.ObjectReference{Namespace: namespace, Name: claim}}}
	}
	requestTo := func(signer string) *certificatesv1.CertificateSigningRequest {
		return &certificatesv1.CertificateSigningRequest{Spec: certificatesv1.CertificateSigningRequestSpec{SignerName: signer}}
	}
	joining := requestTo("kubernetes.io/kube-apiserver-client-kubelet")
	const addresses, certificates, devices, certificateController = "networking.k8s.io", "certificates.k8s.io", "resource.k8s.io", "system:serviceaccount:kube-system:certificate-controller"
	const binder, claimer, bootstrap = "system:serviceaccount:kube-system:persistent-volume-binder", "system:serviceaccount:kube-system:resource-claim-controller", "system:bootstrap:abcdef"
	bootstrappers := []string{"system:bootstrappers", "system:authenticated"}
	notController := ours.DeepCopy()
	notController.OwnerReferences[0].Controller = nil

	for name, test := range map[string]struct {
		call
		called bool
	}{
		// What recreates its pods is excluded by matchConditions.
		"its pod is created":                       {call{resource: "pods", object: ours}, false},
		"its pod is placed":                        {call{resource: "pods", subresource: "binding", name: standing.Name, object: nobody, user: "system:kube-scheduler"}, false},
		"its pod reports how it is":                {call{resource: "pods", subresource: "status", name: standing.Name, operation: admission.Update, object: standing, oldObject: standing, user: kubelet, groups: nodes}, false},
		"its pod no longer exists":                 {call{resource: "pods", name: standing.Name, operation: admission.Delete, oldObject: standing, user: kubelet, groups: nodes}, false},
		"its pod is evicted by the cluster":        {call{resource: "pods", subresource: "eviction", name: standing.Name, object: nobody, user: "system:kube-controller-manager"}, false},
		"its pod is adopted":                       {call{resource: "pods", name: standing.Name, operation: admission.Update, oldObject: onlyLabels, object: standing}, false},
		"its ReplicaSet is created":                {call{group: "apps", resource: "replicasets", name: "manager-6d4cf56db6", object: controlledBy("Deployment", "manager"), user: "system:kube-controller-manager"}, false},
		"its Deployment is repaired":               {call{group: "apps", resource: "deployments", name: "manager", object: nobody, user: installtest.ManagerUser}, false},
		"its Service is repaired":                  {call{resource: "services", name: "manager-service", object: nobody, user: installtest.ManagerUser}, false},
		"its EndpointSlice":                        {call{group: "discovery.k8s.io", resource: "endpointslices", object: controlledBy("Service", "manager-service"), user: "system:serviceaccount:kube-system:endpointslice-controller"}, false},
		"its Service's cluster IP is taken":        {call{group: addresses, resource: "ipaddresses", namespace: "-", name: "10.0.0.7", object: addressOf("shop", "manager-service"), user: apiServer}, false},
		"its Service's cluster IP is given back":   {call{group: addresses, resource: "ipaddresses", namespace: "-", name: "10.0.0.7", operation: admission.Delete, oldObject: addressOf("shop", "manager-service"), user: apiServer}, false},
		"the range of cluster IPs":                 {call{group: addresses, resource: "servicecidrs", namespace: "-", name: "kubernetes", object: nobody, user: apiServer}, false},
		"the range of cluster IPs is ready":        {call{group: addresses, resource: "servicecidrs", subresource: "status", namespace: "-", name: "kubernetes", operation: admission.Update, object: nobody, oldObject: nobody, user: apiServer}, false},
		"its Secret":                               {call{resource: "secrets", name: "manager-service-cert", object: nobody, user: installtest.ManagerUser}, false},
		"its Secret from another issuer":           {call{resource: "secrets", name: "manager-service-cert-issued", operation: admission.Update, object: nobody, oldObject: nobody, user: installtest.ManagerUser}, false},
		"its CAs of another issuer":                {call{resource: "configmaps", name: "manager-service-ca", object: nobody, user: installtest.ManagerUser}, false},
		"the Role of its OperatorCondition":        {call{group: rbacGroup, resource: "roles", name: "shop.v1", object: permissionOf(csvspec.OwnerLabels(installtest.Operator(nil))), user: installtest.ManagerUser}, false},
		"its Role is repaired":                     {call{group: rbacGroup, resource: "roles", name: "shop.v1", operation: admission.Update, oldObject: nobody, object: permissionOf(csvspec.OwnerLabels(installtest.Operator(nil))), user: installtest.ManagerUser}, false},
		"its binding in kube-system":               {call{group: rbacGroup, resource: "rolebindings", namespace: "kube-system", name: "manager-service-auth-reader", object: permissionOf(csvspec.OwnerLabels(installtest.Operator(nil))), user: installtest.ManagerUser}, false},
		"its ClusterRoleBinding is deleted":        {call{group: rbacGroup, resource: "clusterrolebindings", namespace: "-", name: "any", operation: admission.Delete, oldObject: permissionOf(csvspec.OwnerLabels(installtest.Operator(nil))), user: installtest.ManagerUser}, false},
		"what was lifted for the version before":   {call{group: rbacGroup, resource: "clusterroles", namespace: "-", name: "any", operation: admission.Delete, oldObject: permissionOf(liftedBefore), user: installtest.ManagerUser}, false},
		"its order of a certificate":               {call{group: Orders[0].Group, resource: "certificates", name: "manager-service-cert", object: nobody, user: installtest.ManagerUser}, false},
		"its order of a CA is withdrawn":           {call{group: Orders[0].Group, resource: "issuers", name: "manager-service-selfsigned", operation: admission.Delete, oldObject: nobody, user: installtest.ManagerUser}, false},
		"its APIService is registered":             {call{group: "apiregistration.k8s.io", resource: "apiservices", namespace: "-", name: "v1.ponds.example.com", object: nobody, user: installtest.ManagerUser}, false},
		"its APIService is available":              {call{group: "apiregistration.k8s.io", resource: "apiservices", subresource: "status", namespace: "-", name: "v1.ponds.example.com", operation: admission.Update, object: nobody, oldObject: nobody, user: "system:apiserver"}, false},
		"its token":                                {call{resource: "serviceaccounts", subresource: "token", name: "default", object: nobody, user: kubelet, groups: nodes}, false},
		"its trust in the API server":              {call{resource: "configmaps", name: "kube-root-ca.crt", object: nobody, user: "system:serviceaccount:kube-system:root-ca-cert-publisher"}, false},
		"its quota":                                {call{resource: "resourcequotas", subresource: "status", name: "any", operation: admission.Update, object: nobody, oldObject: nobody, user: "system:apiserver"}, false},
		"its lease":                                {call{group: "coordination.k8s.io", resource: "leases", name: "any", object: nobody, user: "system:serviceaccount:shop:default"}, false},
		"a node":                                   {call{resource: "nodes", subresource: "status", namespace: "-", name: "one", operation: admission.Update, object: nobody, oldObject: nobody, user: kubelet, groups: nodes}, false},
		"a node's lease":                           {call{group: "coordination.k8s.io", resource: "leases", namespace: "kube-node-lease", name: "one", object: nobody, user: kubelet, groups: nodes}, false},
		"the scheduler's lease":                    {call{group: "coordination.k8s.io", resource: "leases", namespace: "kube-system", name: "kube-scheduler", object: nobody, user: "system:kube-scheduler"}, false},
		"the manager's lease":                      {call{group: "coordination.k8s.io", resource: "leases", namespace: "olm-webhook-manager", name: "olm-webhook-manager", object: nobody, user: installtest.ManagerUser}, false},
		"kube-proxy's pod":                         {call{resource: "pods", namespace: "kube-system", object: controlledBy("DaemonSet", "kube-proxy"), user: daemonSets}, false},
		"the manager's pod":                        {call{resource: "pods", namespace: "olm-webhook-manager", object: podOf("olm-webhook-manager-1")}, false},
		"the manager labels a Namespace":           {call{resource: "namespaces", namespace: "red", name: "red", operation: admission.Update, object: nobody, oldObject: nobody, user: installtest.ManagerUser}, false},
		"the manager asks who it is":               {call{group: "authentication.k8s.io", resource: "selfsubjectreviews", namespace: "-", object: nobody, user: installtest.ManagerUser}, false},
		"its pod's volume is claimed":              {call{resource: "persistentvolumeclaims", name: standing.Name + "-scratch", object: controlledBy("Pod", standing.Name), user: "system:serviceaccount:kube-system:ephemeral-volume-controller"}, false},
		"its pod's claim is bound":                 {call{resource: "persistentvolumeclaims", subresource: "status", name: standing.Name + "-scratch", operation: admission.Update, object: controlledBy("Pod", standing.Name), oldObject: controlledBy("Pod", standing.Name), user: "system:serviceaccount:kube-system:persistent-volume-binder"}, false},
		"a claim that its pods share is bound":     {call{resource: "persistentvolumeclaims", name: "data", operation: admission.Update, object: nobody, oldObject: nobody, user: "system:kube-scheduler"}, false},
		"a claim that the administrator adds":      {call{resource: "persistentvolumeclaims", name: "more", operation: admission.Update, object: nobody, oldObject: nobody, user: binder}, false},
		"a volume is bound to its pod's claim":     {call{resource: "persistentvolumes", namespace: "-", name: "pv-1", operation: admission.Update, oldObject: nobody, object: volumeOf("shop", standing.Name+"-scratch"), user: binder}, false},
		"a volume is bound to a shared claim":      {call{resource: "persistentvolumes", namespace: "-", name: "pv-1", operation: admission.Update, oldObject: nobody, object: volumeOf("shop", "data"), user: "system:kube-scheduler"}, false},
		"a volume is given back":                   {call{resource: "persistentvolumes", subresource: "status", namespace: "-", name: "pv-1", operation: admission.Update, oldObject: volumeOf("shop", "data"), object: volumeOf("shop", "data"), user: "system:kube-controller-manager"}, false},
		"its pod's devices are claimed":            {call{group: devices, resource: "resourceclaims", object: controlledBy("Pod", standing.Name), user: claimer}, false},
		"its pod knows of its devices":             {call{resource: "pods", subresource: "status", name: standing.Name, operation: admission.Update, object: standing, oldObject: standing, user: claimer}, false},
		"its pod's devices are allocated":          {call{group: devices, resource: "resourceclaims", subresource: "status", name: "any", operation: admission.Update, object: controlledBy("Pod", standing.Name), oldObject: controlledBy("Pod", standing.Name), user: "system:kube-scheduler"}, false},
		"shared devices are reserved for its pod":  {call{group: devices, resource: "resourceclaims", subresource: "status", name: "gpus", operation: admission.Update, object: nobody, oldObject: nobody, user: "system:kube-scheduler"}, false},
		"a node asks to join":                      {call{group: certificates, resource: "certificatesigningrequests", namespace: "-", name: "csr-1", object: joining, user: bootstrap, groups: bootstrappers}, false},
		"a node asks to stay":                      {call{group: certificates, resource: "certificatesigningrequests", namespace: "-", name: "csr-1", object: joining, user: kubelet, groups: nodes}, false},
		"a node may join":                          {call{group: certificates, resource: "certificatesigningrequests", subresource: "approval", namespace: "-", name: "csr-1", operation: admission.Update, object: joining, oldObject: joining, user: certificateController}, false},
		"a volume is attached":                     {call{group: "storage.k8s.io", resource: "volumeattachments", namespace: "-", name: "csi-1", object: nobody, user: "system:serviceaccount:kube-system:attachdetach-controller"}, false},
		"the manager converts":                     {call{group: "apiextensions.k8s.io", resource: "customresourcedefinitions", namespace: "-", name: "x", operation: admission.Update, object: nobody, oldObject: nobody, user: installtest.ManagerUser}, false},
		"a pod of the replicaset of an old hash":   {call{resource: "pods", object: podOf("manager-5b7d")}, false},
		"a pod that had an owner and has one more": {call{resource: "pods", name: standing.Name, operation: admission.Update, oldObject: standing, object: onlyLabels}, false},

		// All others are its to judge.
		"a pod with its labels and owners, by a tenant":    {call{resource: "pods", object: ours, user: tenant}, true},
		"a pod with its labels":                            {call{resource: "pods", object: onlyLabels}, true},
		"a pod with its owner, elsewhere":                  {call{resource: "pods", namespace: "red", object: ours}, true},
		"a pod of another ReplicaSet":                      {call{resource: "pods", object: other}, true},
		"a pod of a ReplicaSet of a longer name":           {call{resource: "pods", object: evil}, true},
		"a pod that its ReplicaSet does not control":       {call{resource: "pods", object: notController}, true},
		"a pod of a node's own":                            {call{resource: "pods", name: "static-one", object: controlledBy("Node", "one"), user: kubelet, groups: nodes}, true},
		"a pod that is named like its pods":                {call{resource: "pods", name: standing.Name, object: nobody}, true},
		"a pod with its owner, changed by a tenant":        {call{resource: "pods", name: standing.Name, operation: admission.Update, object: standing, oldObject: standing, user: tenant}, true},
		"a pod, deleted by a tenant":                       {call{resource: "pods", name: standing.Name, operation: admission.Delete, oldObject: standing, user: tenant}, true},
		"all pods, deleted by a tenant":                    {call{resource: "pods", operation: admission.Delete, user: tenant}, true},
		"all pods, deleted with the Namespace":             {call{resource: "pods", operation: admission.Delete, user: "system:serviceaccount:kube-system:namespace-controller"}, true},
		"a shell in its pod":                               {call{resource: "pods", subresource: "exec", name: standing.Name, operation: admission.Connect, object: nobody, user: tenant}, true},
		"its pod is placed by a tenant":                    {call{resource: "pods", subresource: "binding", name: standing.Name, object: nobody, user: tenant}, true},
		"another pod is placed":                            {call{resource: "pods", subresource: "binding", name: "other-6d4cf56db6-x7k2p", object: nobody, user: "system:kube-scheduler"}, true},
		"its Deployment, by a tenant":                      {call{group: "apps", resource: "deployments", name: "manager", object: nobody, user: tenant}, true},
		"another Deployment, by the manager":               {call{group: "apps", resource: "deployments", name: "other", object: nobody, user: installtest.ManagerUser}, true},
		"its Deployment's name elsewhere, by the manager":  {call{group: "apps", resource: "deployments", namespace: "red", name: "manager", object: nobody, user: installtest.ManagerUser}, true},
		"another order, by the manager":                    {call{group: Orders[0].Group, resource: "certificates", name: "other", object: nobody, user: installtest.ManagerUser}, true},
		"its order, by a tenant":                           {call{group: Orders[0].Group, resource: "certificates", name: "manager-service-cert", object: nobody, user: tenant}, true},
		"another APIService, by the manager":               {call{group: "apiregistration.k8s.io", resource: "apiservices", namespace: "-", name: "v1.others.example.com", object: nobody, user: installtest.ManagerUser}, true},
		"its APIService, by a tenant":                      {call{group: "apiregistration.k8s.io", resource: "apiservices", namespace: "-", name: "v1.ponds.example.com", object: nobody, user: tenant}, true},
		"another Service's cluster IP":                     {call{group: addresses, resource: "ipaddresses", namespace: "-", name: "10.0.0.7", object: addressOf("shop", "other"), user: apiServer}, true},
		"the cluster IP of a Service named alike":          {call{group: addresses, resource: "ipaddresses", namespace: "-", name: "10.0.0.7", object: addressOf("red", "manager-service"), user: apiServer}, true},
		"its Service's cluster IP, by a tenant":            {call{group: addresses, resource: "ipaddresses", namespace: "-", name: "10.0.0.7", object: addressOf("shop", "manager-service"), user: tenant}, true},
		"a cluster IP without an owner":                    {call{group: addresses, resource: "ipaddresses", namespace: "-", name: "10.0.0.7", object: nobody, user: apiServer}, true},
		"another range of cluster IPs":                     {call{group: addresses, resource: "servicecidrs", namespace: "-", name: "more", object: nobody, user: apiServer}, true},
		"the range of cluster IPs, by a tenant":            {call{group: addresses, resource: "servicecidrs", namespace: "-", name: "kubernetes", object: nobody, user: tenant}, true},
		"another Secret, by the manager":                   {call{resource: "secrets", name: "other", object: nobody, user: installtest.ManagerUser}, true},
		"its Role, by a tenant":                            {call{group: rbacGroup, resource: "roles", name: "shop.v1", object: permissionOf(csvspec.OwnerLabels(installtest.Operator(nil))), user: tenant}, true},
		"another Role, by the manager":                     {call{group: rbacGroup, resource: "roles", name: "shop.v1", object: permissionOf(map[string]string{wellknown.LabelManaged: "true"}), user: installtest.ManagerUser}, true},
		"a Role without labels, by the manager":            {call{group: rbacGroup, resource: "roles", name: "other", object: nobody, user: installtest.ManagerUser}, true},
		"what was lifted for another namespace's operator": {call{group: rbacGroup, resource: "clusterroles", namespace: "-", name: "any", object: permissionOf(map[string]string{wellknown.LabelGrantedPermissions: "true", wellknown.LabelOwnerNamespace: "red"}), user: installtest.ManagerUser}, true},
		"a ClusterRole that was lifted, by a tenant":       {call{group: rbacGroup, resource: "clusterroles", namespace: "-", name: "any", object: permissionOf(liftedBefore), user: tenant}, true},
		"a ReplicaSet of another Deployment":               {call{group: "apps", resource: "replicasets", object: controlledBy("Deployment", "manager-2"), user: "system:kube-controller-manager"}, true},
		"an EndpointSlice of another Service":              {call{group: "discovery.k8s.io", resource: "endpointslices", object: controlledBy("Service", "other"), user: "system:kube-controller-manager"}, true},
		"a token of another account":                       {call{resource: "serviceaccounts", subresource: "token", name: "other", object: nobody, user: kubelet, groups: nodes}, true},
		"a lease by another account":                       {call{group: "coordination.k8s.io", resource: "leases", name: "any", object: nobody, user: "system:serviceaccount:shop:other"}, true},
		"a lease elsewhere by its account":                 {call{group: "coordination.k8s.io", resource: "leases", namespace: "red", name: "any", object: nobody, user: "system:serviceaccount:shop:default"}, true},
		"a node, by a person":                              {call{resource: "nodes", namespace: "-", name: "one", operation: admission.Update, object: nobody, oldObject: nobody, user: tenant}, true},
		"a pod in kube-system, by a person":                {call{resource: "pods", namespace: "kube-system", object: nobody, user: tenant}, true},
		"a tenant asks who he is":                          {call{group: "authentication.k8s.io", resource: "selfsubjectreviews", namespace: "-", object: nobody, user: tenant}, true},
		"its pod's volume, claimed by a tenant":            {call{resource: "persistentvolumeclaims", name: standing.Name + "-scratch", object: controlledBy("Pod", standing.Name), user: tenant}, true},
		"another pod's volume":                             {call{resource: "persistentvolumeclaims", name: "other", object: controlledBy("Pod", "other-6d4cf56db6-x7k2p"), user: "system:serviceaccount:kube-system:ephemeral-volume-controller"}, true},
		"another claim is bound":                           {call{resource: "persistentvolumeclaims", name: "other", operation: admission.Update, object: nobody, oldObject: nobody, user: binder}, true},
		"a shared claim, changed by a tenant":              {call{resource: "persistentvolumeclaims", name: "data", operation: admission.Update, object: nobody, oldObject: nobody, user: tenant}, true},
		"a volume is bound to a claim named alike":         {call{resource: "persistentvolumes", namespace: "-", name: "pv-1", operation: admission.Update, oldObject: nobody, object: volumeOf("red", "data"), user: binder}, true},
		"a volume is bound to another claim":               {call{resource: "persistentvolumes", namespace: "-", name: "pv-1", operation: admission.Update, oldObject: nobody, object: volumeOf("shop", "other"), user: binder}, true},
		"a volume is bound to nothing":                     {call{resource: "persistentvolumes", namespace: "-", name: "pv-1", object: nobody, user: binder}, true},
		"a volume is bound by a tenant":                    {call{resource: "persistentvolumes", namespace: "-", name: "pv-1", operation: admission.Update, oldObject: nobody, object: volumeOf("shop", "data"), user: tenant}, true},
		"a volume of a driver":                             {call{resource: "persistentvolumes", namespace: "-", name: "pv-1", object: volumeOf("shop", "data"), user: "system:serviceaccount:csi:provisioner"}, true},
		"another pod's devices":                            {call{group: devices, resource: "resourceclaims", object: controlledBy("Pod", "other-6d4cf56db6-x7k2p"), user: claimer}, true},
		"other shared devices":                             {call{group: devices, resource: "resourceclaims", subresource: "status", name: "others", operation: admission.Update, object: nobody, oldObject: nobody, user: "system:kube-scheduler"}, true},
		"its pod's devices, by a tenant":                   {call{group: devices, resource: "resourceclaims", object: controlledBy("Pod", standing.Name), user: tenant}, true},
		"another certificate of a node":                    {call{group: certificates, resource: "certificatesigningrequests", namespace: "-", name: "csr-1", object: requestTo("kubernetes.io/kubelet-serving"), user: kubelet, groups: nodes}, true},
		"a certificate of no node":                         {call{group: certificates, resource: "certificatesigningrequests", namespace: "-", name: "csr-1", object: requestTo("kubernetes.io/kube-apiserver-client"), user: certificateController}, true},
		"a node's certificate, asked for by a tenant":      {call{group: certificates, resource: "certificatesigningrequests", namespace: "-", name: "csr-1", object: joining, user: tenant}, true},
		"a node's certificate, approved by a tenant":       {call{group: certificates, resource: "certificatesigningrequests", subresource: "approval", namespace: "-", name: "csr-1", operation: admission.Update, object: joining, oldObject: joining, user: tenant}, true},
		"a volume is attached by a tenant":                 {call{group: "storage.k8s.io", resource: "volumeattachments", namespace: "-", name: "csi-1", object: nobody, user: tenant}, true},
		"a Namespace, by a person":                         {call{resource: "namespaces", namespace: "red", name: "red", operation: admission.Update, object: nobody, oldObject: nobody, user: tenant}, true},
		"a user who calls his group like a system's":       {call{resource: "pods", object: ours, user: "system:nodes"}, true},
		"a controller's name in another namespace":         {call{resource: "pods", object: ours, user: "system:serviceaccount:red:replicaset-controller"}, true},
		"a resource of another group that is named alike":  {call{group: "shop.example.com", resource: "pods", object: ours}, true},
		"a request without a user, a name, and any object": {call{resource: "pods", user: " "}, true},
	} {
		t.Run(name, func(t *testing.T) {
			installtest.Same(t, "the webhook is called", test.called, calls(t, matcher, test.filled()))
		})
	}
}

func (r call) filled() call {
	if r.operation == "" {
		r.operation = admission.Create
	}
	switch r.namespace {
	case "":
		r.namespace = "shop"
	case "-":
		r.namespace = ""
	}
	if r.user == "" {
		r.user = replicaSets
	}
	r.user = strings.TrimSpace(r.user)
	return r
}

// No request, however little it shows, makes a condition fail: with failurePolicy Fail that would refuse it.
func TestConditionsAreTotal(t *testing.T) {
	matcher := matcherOf(conditionsOf(guardedBy(installtest.ServedBy("manager"))))
	objects := []runtime.Object{nil, &metav1.PartialObjectMetadata{}, podOf("manager-1"), &corev1.PodExecOptions{}, &runtime.Unknown{}}
	for _, operation := range []admission.Operation{admission.Create, admission.Update, admission.Delete, admission.Connect} {
		for _, e := range exemptions(guardedBy(installtest.ServedBy("manager"))) {
			for _, s := range e.subjects {
				for i, object := range objects {
					for _, name := range []string{"", "manager"} {
						r := call{group: s.Group, resource: s.Resource, subresource: s.subresource, namespace: "shop", name: name, operation: operation, object: object, oldObject: objects[(i+1)%len(objects)], user: kubelet}
						calls(t, matcher, r)
					}
				}
			}
		}
	}
}

// The first Kubernetes that knows matchConditions understands them.
func TestConditionsCompileOnOldServers(t *testing.T) {
	compiler := cel.NewConditionCompiler(environment.MustBaseEnvSet(kubernetes.MajorMinor(1, 28)))
	for _, c := range conditionsOf(guardedBy(installtest.ServedBy("manager"))) {
		compiled := compiler.CompileCondition([]cel.ExpressionAccessor{(*matchconditions.MatchCondition)(&c)}, cel.OptionalVariableDeclarations{HasAuthorizer: true}, environment.NewExpressions)
		for _, err := range compiled.CompilationErrors() {
			t.Errorf("%s: %v\n%s", c.Name, err, c.Expression)
		}
	}
}

// The replicaset controller cuts the names of pods.
func TestConditionsOfLongNames(t *testing.T) {
	for _, length := range []int{45, 46, 47, 57, 58, 63} {
		deployment := strings.Repeat("d", length)
		csv := installtest.Operator(installtest.Deployments(installtest.DeploymentOf(deployment)), installtest.ServedBy(deployment))
		in := Input{CSV: csv, Scope: installtest.ScopeOf(csv), Services: installtest.ServicesOf(csv)}
		base := deployment + "-6d4cf56db6-"
		pod := base[:min(len(base), 58)] + "x7k2p"
		if calls(t, matcherOf(conditionsOf(in)), call{resource: "pods", subresource: "binding", operation: admission.Create, namespace: "shop", name: pod, user: "system:kube-scheduler"}) {
			t.Errorf("the placing of pod %s of Deployment %s is intercepted", pod, deployment)
		}
	}
}

// The account that writes objects of the operator is not intercepted when it writes the backend, and otherwise is.
func TestConditionsOfAnInstaller(t *testing.T) {
	const installer = "system:serviceaccount:shop:installer"
	in := guardedBy(installtest.ServedBy("manager"))
	nobody := &metav1.PartialObjectMetadata{}
	own := permissionOf(csvspec.OwnerLabels(in.CSV))
	for name, test := range map[string]struct {
		call
		called bool
	}{
		"its Deployment":    {call{group: "apps", resource: "deployments", name: "manager", object: nobody}, false},
		"its Service":       {call{resource: "services", name: "manager-service", object: nobody}, false},
		"its Secret":        {call{resource: "secrets", name: "manager-service-cert", object: nobody}, false},
		"its pod":           {call{resource: "pods", object: podOf("manager-6d4cf56db6")}, true},
		"another Secret":    {call{resource: "secrets", name: "other", object: nobody}, true},
		"a labelled role":   {call{group: rbacGroup, resource: "clusterroles", namespace: "-", name: "any", object: own}, true},
		"a Node":            {call{resource: "nodes", namespace: "-", name: "one", object: nobody}, true},
		"a system workload": {call{resource: "pods", namespace: "kube-system", object: nobody}, true},
	} {
		t.Run(name, func(t *testing.T) {
			test.user = installer
			in.Installer = installer
			installtest.Same(t, "the webhook is called", test.called, calls(t, matcherOf(conditionsOf(in)), test.filled()))
			in.Installer = ""
			installtest.Same(t, "the webhook is called if the manager installs", true, calls(t, matcherOf(conditionsOf(in)), test.filled()))
		})
	}
}
