// Package audit finds the objects that API servers may have admitted while a webhook was open: while a request passed that
// the webhook did not answer.
//
// The evidence is in the objects: the time of the creation, the times of the entries in metadata.managedFields, and the
// order of the resource versions. It has limits:
//
//   - The times have a resolution of one second.
//   - An entry of managedFields has only the last change of a field manager. A later change of the same manager hides an
//     earlier one.
//   - A change that only removes fields, or that a subresource such as pods/binding makes, has no entry.
//   - A client may remove managedFields, or write other times into them.
//   - A deleted object leaves no evidence.
//
// Where the evidence cannot exclude a change, the object is listed as Possible. An audit log of the API servers has no such
// limits: it names each request that passed because the webhook did not answer.
package audit
