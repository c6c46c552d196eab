package wellknown

// AnnotationCertificateProvider, in the config of a Subscription, selects the provider of the
// operator's serving certificates: manager (the default), cert-manager, service-ca or none. On a
// serving certificate's Secret, it is the provider that issued the certificate in tls.crt.
const AnnotationCertificateProvider = "olm-webhook-manager.io/certificate-provider"

// AnnotationCertManagerIssuer, in the config of a Subscription, is the issuer that signs if the
// provider is cert-manager: Kind/name for cert-manager's own kinds, Kind.group/name for others.
const AnnotationCertManagerIssuer = "olm-webhook-manager.io/cert-manager-issuer"

// Annotations in the config of a Subscription that change the certificate policy of its operator.
const (
	// AnnotationCertificateValidity, in the config of a Subscription, is how long its certificates are
	// valid, as a duration such as 720h.
	AnnotationCertificateValidity = "olm-webhook-manager.io/certificate-validity"
	// AnnotationCertificateRenewBefore, in the config of a Subscription, is how long before their
	// expiry its certificates are replaced, as a duration. 0 is a third of the validity.
	AnnotationCertificateRenewBefore = "olm-webhook-manager.io/certificate-renew-before"
	// AnnotationCertificateClockSkew, in the config of a Subscription, is the maximum difference
	// between clocks, as a duration: the validity of certificates starts so much earlier.
	AnnotationCertificateClockSkew = "olm-webhook-manager.io/certificate-clock-skew"
	// AnnotationCertificateKey, in the config of a Subscription, is the kind of keys: ECDSA-P256,
	// ECDSA-P384, RSA-3072 or Ed25519.
	AnnotationCertificateKey = "olm-webhook-manager.io/certificate-key"
)

// AnnotationCAHash, on a Secret and on a pod template, is the hex SHA-256 of the
// PEM form of the CA certificate in the Secret. OLM v0 defines it.
const AnnotationCAHash = "olmcahash"

// AnnotationGeneration is the number of a certificate generation, counted from 1. On a Secret it is
// the generation in tls.crt. On a registration, and on a CustomResourceDefinition with a conversion,
// it is the newest generation that the caBundle trusts.
const AnnotationGeneration = "olm-webhook-manager.io/certificate-generation"

// Annotations on a serving certificate's Secret, which stores the whole state of a rotation. Times
// are in RFC 3339 form.
const (
	// AnnotationFingerprint is the hex SHA-256 of the DER form of the certificate that the manager
	// wrote into tls.crt. If tls.crt has another one, another client wrote it.
	AnnotationFingerprint = "olm-webhook-manager.io/certificate-fingerprint"
	// AnnotationUpdatedAt is when the certificate in tls.crt was written.
	AnnotationUpdatedAt = "olm-webhook-manager.io/certificate-updated-at"
	// AnnotationNextGeneration is the number of the generation under the keys that begin with "next-".
	AnnotationNextGeneration = "olm-webhook-manager.io/certificate-next-generation"
	// AnnotationNextProvider is the provider that issued this generation.
	AnnotationNextProvider = "olm-webhook-manager.io/certificate-next-provider"
	// AnnotationNextStoredAt is when the next generation was stored.
	AnnotationNextStoredAt = "olm-webhook-manager.io/certificate-next-stored-at"
	// AnnotationNextTrustedAt is when all registrations were observed to trust the next generation,
	// and a hash of these registrations.
	AnnotationNextTrustedAt = "olm-webhook-manager.io/certificate-next-trusted-at"
	// AnnotationPromotedAt is when the certificate in tls.crt replaced the previous one. The manager
	// deletes it when all pods were observed to serve the new certificate.
	AnnotationPromotedAt = "olm-webhook-manager.io/certificate-promoted-at"
	// AnnotationPreviousExpiresAt is until when pods may serve a previous certificate.
	AnnotationPreviousExpiresAt = "olm-webhook-manager.io/certificate-previous-expires-at"
	// AnnotationPropagation is how it was found out, before the certificate in tls.crt was written, that API servers
	// trusted it: status.deployments[].certificate.propagation of the WebhookRollout, as JSON.
	AnnotationPropagation = "olm-webhook-manager.io/certificate-propagation"
	// AnnotationLastRotationRequest is the last value of AnnotationRotate that was carried out.
	AnnotationLastRotationRequest = "olm-webhook-manager.io/last-rotation-request"
	// AnnotationLastRotateAt is the last status.certsRotateAt of another client that was carried out.
	// The manager restarts pods for it, as OLM v0 does.
	AnnotationLastRotateAt = "olm-webhook-manager.io/last-rotate-at"
	// AnnotationUnusableCA is the hex SHA-256 of an expired CA that another client wrote into the
	// Secret. The manager restarts pods for the next certificate, as OLM v0 does.
	AnnotationUnusableCA = "olm-webhook-manager.io/certificate-unusable-ca"
	// AnnotationRecreatedFor is the value of AnnotationFingerprint for which the Secret was last
	// recreated because it was immutable.
	AnnotationRecreatedFor = "olm-webhook-manager.io/certificate-recreated-for"
)

// AnnotationResyncedAt, on a pod, is when the manager last changed the pod so that its kubelet
// re-syncs its volumes. Without a change the kubelet does so about once a minute.
const AnnotationResyncedAt = "olm-webhook-manager.io/certificate-touched-at"

// AnnotationRestartedFor, on a pod template, is the generation for which the manager restarted the
// pods, because they did not reload it.
const AnnotationRestartedFor = "olm-webhook-manager.io/restarted-for-generation"

// Keys of a serving certificate Secret, in addition to tls.crt and tls.key.
const (
	// KeyCA holds the CA certificate that signed tls.crt, PEM.
	KeyCA = "ca.crt"
	// KeyOLMCA holds the same under the name that OLM v0 gives it. Despite the name it
	// is no key: the CA's private key is stored nowhere.
	KeyOLMCA = "olmCAKey"
	// KeyPreviousCAs holds the CA certificates of previous generations that a pod may still serve,
	// PEM, newest first.
	KeyPreviousCAs = "previous-ca.crt"
	// The keys of the next generation, which pods do not mount.
	KeyNextCertificate = "next-tls.crt"
	KeyNextKey         = "next-tls.key"
	KeyNextCA          = "next-ca.crt"
)

// Volumes that mount the serving certificate into every container of a Deployment with webhooks.
const (
	VolumeWebhookCert    = "webhook-cert"
	MountWebhookCert     = "/tmp/k8s-webhook-server/serving-certs"
	VolumeAPIServiceCert = "apiservice-cert"
	MountAPIServiceCert  = "/apiserver.local.config/certificates"
)

// What OpenShift's service-ca reads and writes.
const (
	// AnnotationServingCertSecret, on a Service, is the name of the Secret that service-ca creates.
	AnnotationServingCertSecret = "service.beta.openshift.io/serving-cert-secret-name" //nolint:gosec // G101: the name of an annotation
	// AnnotationServingCertError, on a Service, is why service-ca could not issue.
	AnnotationServingCertError = "service.beta.openshift.io/serving-cert-generation-error"
	// AnnotationInjectCABundle, "true" on a ConfigMap, requests the CAs of service-ca.
	AnnotationInjectCABundle = "service.beta.openshift.io/inject-cabundle"
	// KeyServiceCA is the key of the CAs in that ConfigMap.
	KeyServiceCA = "service-ca.crt"
)
