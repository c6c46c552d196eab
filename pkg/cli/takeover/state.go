package takeover

// State is the state of one CSV.
type State string

// The states.
const (
	// WithOLM means that olm-operator manages the CSV.
	WithOLM State = "WithOLM"
	// Unmanaged means that olm-operator does not run, and that the manager does not write. Webhooks serve, and no client
	// repairs them or renews their certificates.
	Unmanaged State = "Unmanaged"
	// Adopting means that the manager adopts the objects.
	Adopting State = "Adopting"
	// Adopted means that the manager manages the objects in the form of olm-operator.
	Adopted State = "Adopted"
	// Installing means that the manager installs a CSV that olm-operator has not installed. It is not part of the takeover.
	Installing State = "Installing"
	// Converging means that the manager brings the objects into its own form.
	Converging State = "Converging"
	// Converged means that the objects have the manager's own form.
	Converged State = "Converged"
	// GivingBack means that the manager brings the objects into a form that olm-operator accepts.
	GivingBack State = "GivingBack"
	// ReadyForOLM means that the objects have this form, and that the manager does not write.
	ReadyForOLM State = "GivenBack"
)

// StateOf returns the state of a CSV.
func (s *Snapshot) StateOf(c CSV) State {
	if s.OLM.Runs() {
		return WithOLM
	}
	if c.Order == GivenBack {
		if c.Report.Form == FormGivenBack {
			return ReadyForOLM
		}
		return Unmanaged
	}
	if c.Order == "" && !s.Manager.Runs() && !c.isChanged() {
		return Unmanaged
	}
	return c.state()
}

// state is the state of a CSV that the manager manages.
func (c CSV) state() State {
	switch {
	case c.Order == GiveBack && c.Report.Form == FormGivenBack:
		return ReadyForOLM
	case c.Order == GiveBack:
		return GivingBack
	case c.Order == "" && c.Phase != succeeded:
		return Installing
	case c.Order == "" && c.Report.Form == formConverging:
		return Converging
	case c.Order == "" && (c.HasRollout || c.InManagersForm || !c.HasDeployments), c.Report.Form == FormConverged:
		return Converged
	case c.Order == Converge:
		return Converging
	case c.Report.Form == FormAdopted:
		return Adopted
	default:
		return Adopting
	}
}
