package takeover

// wasChanged reports whether the manager has changed the objects of a CSV and has not given them back, as far as the manager
// has reported. While olm-operator runs, a label shows nothing: the manager has not acted on it.
func (c CSV) wasChanged() bool {
	if !c.HasRollout {
		return c.InManagersForm
	}
	return c.Report.Form != FormGivenBack
}

// isChanged reports whether the manager has changed the objects of a CSV, and has not given them back. The label given-back
// alone does not show that.
func (c CSV) isChanged() bool {
	return c.wasChanged() || c.HasRollout && c.awaitsReport()
}

// awaitsReport reports whether the manager has not reported since an earlier return, after which the CSV was adopted again.
func (c CSV) awaitsReport() bool {
	return (c.Order == Held || c.Order == Converge) && c.Report.Form == FormGivenBack
}
