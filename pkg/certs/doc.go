// Package certs decides about the serving certificate of one Deployment.
//
// A generation is a CA and a leaf that it signed, with a number. The private key of the CA is
// discarded after the leaf is signed. The Secret with a generation therefore cannot sign another
// one.
//
// One Secret stores the whole state of a rotation: the certificate that pods mount, the next
// generation under keys of its own, the CAs of what pods may still serve, and the times of the
// steps as annotations. Each step is one write under the resourceVersion of the Secret. Another
// manager process can continue at any step:
//
//	phase         stored                 action
//	Stable        current                registrations trust current
//	Distributing  current, next          registrations are changed to trust next, too
//	Promoting     next became current    pods reload current
//	Retiring      current                registrations trust current alone again
//
// [Decide] takes facts and a time, and returns the next step. It requests the facts that it lacks
// ([Decision.Need]). Caches are recent enough to add trust. Decide requires live facts to give pods
// another certificate, and to remove the trust in a CA that verifies what pods may serve. Without
// them, it removes a CA that has expired, and that of a next generation that no pod could serve.
// [Mint] is the only function here that is not pure.
//
// A certificate of another issuer is passed as [Facts.Issued] and goes through the same steps.
package certs
