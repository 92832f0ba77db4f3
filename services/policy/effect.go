package policy

import (
	commonv1 "fairlead.dev/gen/fairlead/common/v1"
	policyv1 "fairlead.dev/gen/fairlead/policy/v1"
)

// effectOf derives how far an act reaches from verb, role, page and secure bit, never
// from the agent's words. What is not known counts as reaching further.
//
//	secure field, any verb                                           RESTRICTED
//	move, resize, minimise                                           REVERSIBLE
//	select, scroll, focus, hover, expand, check, set_value           REVERSIBLE
//	  on an element or at a point of unknown role                    EXTERNAL
//	type_text, paste into a text area                                REVERSIBLE
//	type_text, paste into anything else: Return may follow, and      EXTERNAL
//	  the facts do not say whether it does
//	press, perform on something that only changes its own state      REVERSIBLE
//	press, perform on anything else, also of unknown role            EXTERNAL
//	keys, points, menus, close, navigate, launch                     EXTERNAL
//	anything but select, scroll, focus, hover and window verbs       EXTERNAL
//	  in a bound page: pages send what they are given
//	a verb that is not known                                         HIGH_IMPACT
func effectOf(a act) policyv1.EffectLevel {
	if a.secure || a.role == commonv1.Role_ROLE_SECURE_FIELD {
		return policyv1.EffectLevel_EFFECT_LEVEL_RESTRICTED
	}
	known := a.role != commonv1.Role_ROLE_UNSPECIFIED
	switch a.verb {
	case commonv1.Verb_VERB_MOVE_WINDOW, commonv1.Verb_VERB_RESIZE_WINDOW, commonv1.Verb_VERB_MINIMIZE_WINDOW:
		return policyv1.EffectLevel_EFFECT_LEVEL_REVERSIBLE
	case commonv1.Verb_VERB_SELECT_TEXT, commonv1.Verb_VERB_SCROLL_ELEMENT, commonv1.Verb_VERB_SCROLL_POINT,
		commonv1.Verb_VERB_FOCUS_ELEMENT, commonv1.Verb_VERB_HOVER_POINT:
		return reversible(known)
	case commonv1.Verb_VERB_SET_VALUE, commonv1.Verb_VERB_SELECT_OPTION, commonv1.Verb_VERB_SET_EXPANDED,
		commonv1.Verb_VERB_SET_CHECKED:
		return reversible(known && !a.hasPage)
	case commonv1.Verb_VERB_TYPE_TEXT, commonv1.Verb_VERB_PASTE:
		return reversible(!a.hasPage && a.role == commonv1.Role_ROLE_TEXT_AREA)
	case commonv1.Verb_VERB_CLICK_ELEMENT, commonv1.Verb_VERB_PERFORM:
		return reversible(!a.hasPage && ownStateOnly(a.role))
	case commonv1.Verb_VERB_PRESS_KEYS, commonv1.Verb_VERB_HOLD_KEYS, commonv1.Verb_VERB_CLICK_POINT,
		commonv1.Verb_VERB_DRAG, commonv1.Verb_VERB_CLOSE_WINDOW, commonv1.Verb_VERB_INVOKE_MENU,
		commonv1.Verb_VERB_NAVIGATE, commonv1.Verb_VERB_GO_BACK, commonv1.Verb_VERB_RELOAD,
		commonv1.Verb_VERB_LAUNCH_APP:
		return policyv1.EffectLevel_EFFECT_LEVEL_EXTERNAL
	default:
		return policyv1.EffectLevel_EFFECT_LEVEL_HIGH_IMPACT
	}
}

func reversible(yes bool) policyv1.EffectLevel {
	if yes {
		return policyv1.EffectLevel_EFFECT_LEVEL_REVERSIBLE
	}
	return policyv1.EffectLevel_EFFECT_LEVEL_EXTERNAL
}

// ownStateOnly reports whether a press on such an element usually changes nothing but
// that element's own state, and a second press takes it back.
func ownStateOnly(r commonv1.Role) bool {
	switch r {
	case commonv1.Role_ROLE_TOGGLE_BUTTON, commonv1.Role_ROLE_CHECK_BOX, commonv1.Role_ROLE_SWITCH,
		commonv1.Role_ROLE_RADIO_BUTTON, commonv1.Role_ROLE_COMBO_BOX, commonv1.Role_ROLE_SPIN_BUTTON,
		commonv1.Role_ROLE_SLIDER, commonv1.Role_ROLE_TAB, commonv1.Role_ROLE_DISCLOSURE,
		commonv1.Role_ROLE_SCROLL_BAR, commonv1.Role_ROLE_SPLITTER:
		return true
	default:
		return false
	}
}
