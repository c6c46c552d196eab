package vocabulary

// LabelCanary, on the object of a dry run that is meant for a canary and on the canary
// itself, is the canary's name; on the object a word after a dot tells which of its
// webhooks is meant.
const LabelCanary = "olm-webhook-manager.io/canary"
