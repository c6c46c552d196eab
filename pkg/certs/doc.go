// Package certs decides about the serving certificate of one Deployment.
//
// A generation is a CA and a leaf that it signed, numbered. The CA's private key
// is forgotten when the leaf is signed, so the Secret that holds a generation
// holds nothing that could sign another one.
//
// [Decide] takes what the cluster holds and the instant, and says in which phase
// the certificate is, which CAs registrations have to trust, and what to mint.
// [Mint] is the one function here that is not pure. [Fill] writes what was minted
// into a copy of the Secret.
//
// A generation that is to replace one takes three steps, and a crash between two
// of them costs nothing but a CA too many, which the next Stable pass prunes:
//
//	g, err := certs.Mint(*decision.Mint)
//	// publish g.Trust(decision) in every registration, and let it settle
//	secret = certs.Fill(secret, g, decision)
//
// While nothing is registered (phase Bootstrap) there is nowhere to publish, and
// the Secret is written at once.
package certs
