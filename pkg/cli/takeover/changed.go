package takeover

// isChanged reports whether the manager has changed the objects of a CSV, and has not given them back. The label given-back
// alone does not show that.
func (c CSV) isChanged() bool {
	switch {
	case !c.HasRollout:
		return c.InManagersForm
	case c.Order == Held || c.Order == Converge:
		return true // The report may be that of an earlier return.
	default:
		return c.Report.Form != FormGivenBack
	}
}
