package convert

// AllowedInV1 and AllowedInV2 report whether a version's schema allows a spec.
var (
	AllowedInV1 = v1Spec.allows
	AllowedInV2 = v2Spec.allows
)
