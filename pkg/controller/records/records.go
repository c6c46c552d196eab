package records

// Records are all records of a process.
type Records struct {
	Repairs       Repairs
	CreationTimes CreationTimes // of registrations
	Scopes        Scopes
	RotationSlots RotationSlots
	Unlabelled    LabelRefusals
	Contested     FieldContests
	Unregistered  Unregistered
}
