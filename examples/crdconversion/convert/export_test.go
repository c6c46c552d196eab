package convert

var (
	AllowedInV1 = v1Spec.allows
	AllowedInV2 = v2Spec.allows
)
