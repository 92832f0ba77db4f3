package refusal

import (
	"errors"
	"fmt"
	"testing"

	commonv1 "fairlead.dev/gen/fairlead/common/v1"
)

func TestEveryCodeHasARuleAndEveryAnswerATelling(t *testing.T) {
	for n, name := range commonv1.RefusalCode_name {
		if n != 0 && rules[Code(n)] == nil {
			t.Errorf("%s has no rule", name)
		}
	}
	for n, name := range commonv1.ExecutorCode_name {
		if n != 0 && tellings[Answer(n)] == 0 {
			t.Errorf("%s is told as nothing", name)
		}
	}
}

func TestWhatIsNotInTheVocabularyIsTheWorstCase(t *testing.T) {
	if ToldAs(Answer(9999)) != OutcomeUnknown {
		t.Error("an unknown answer is not OUTCOME_UNKNOWN")
	}
	if Of(Code(9999)).GetClaimEnd() != commonv1.ClaimEnd_CLAIM_END_CONSUMED {
		t.Error("an unknown code does not consume")
	}
}

func TestARefusalSurvivesWrapping(t *testing.T) {
	err := fmt.Errorf("deciding: %w", With(LeaseRequired, &Detail{Candidates: 2}))
	if r := As(err); r.Code != LeaseRequired || r.Detail.GetCandidates() != 2 {
		t.Errorf("got %+v", r)
	}
	if r := As(errors.New("anything")); r.Code != ServiceUnavailable {
		t.Errorf("got %v", r.Code)
	}
}

func TestTheWireSaysWhatTheRuleSays(t *testing.T) {
	w := FromAnswer(AnswerWindowGone, &Detail{Candidates: 1}).Wire()
	if w.GetCode() != TargetMissing || w.GetSentence() != Of(TargetMissing).GetSentence() ||
		w.GetDetail().GetExecutorCode() != AnswerWindowGone || w.GetDetail().GetCandidates() != 1 {
		t.Errorf("got %v", w)
	}
}
