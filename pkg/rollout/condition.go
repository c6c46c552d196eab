package rollout

// wantCondition gives an operator where to say whether it may be upgraded. Its Deployment goes
// first: this, too, is written before a pod of it runs.
func (p *planner) wantCondition() {
	c := p.Desired.Condition
	if c == nil {
		return
	}
	if p.Condition != nil {
		p.tell(*p.Condition)
	}
	p.want(c.Role, lookUp(p.Observed.Roles, c.Role.Name))
	p.want(c.RoleBinding, lookUp(p.Observed.RoleBindings, c.RoleBinding.Name))
}
