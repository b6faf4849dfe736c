package skills

// Floor is the height over the background from which a procedure is recalled, in standard deviations. Each
// procedure has its own background: mean and deviation of its when_to_use's cosines with the
// requests of Background, under each model. So one number serves every model, though their cosines lie at different
// levels, and serves vague texts, which are a little like everything, as well as precise ones.
type Floor float64

// DefaultFloor was chosen on 20 procedures with three paraphrases each and 60 messages that none of them is for
// (testdata/recall.json). Recalled paraphrases, and messages that recalled something all the same:
//
//	floor          4         4.5         5         5.5         6
//	builtin     56, 5      55, 5      54, 3      51, 2      50, 2
//	all-minilm  60, 1      60, 0      58, 0      58, 0      56, 0
//	both        59, 2      58, 2      58, 1      56, 1      55, 0
//
// It leans to the side of silence: a skill that is missed leaves its tools to be found one by one, one that is recalled
// for nothing takes their places. The more procedures there are, the likelier is one that is hit by chance.
const DefaultFloor Floor = 5

// Background returns everyday requests that no procedure is for; each embedder embeds them as Queries.
func Background() []string {
	return []string{
		"hi there, how are you today?",
		"thanks, that was really helpful!",
		"tell me a joke",
		"why is the sky blue?",
		"what is the capital of Portugal?",
		"how many legs does a spider have?",
		"who painted the Mona Lisa?",
		"explain black holes to a ten year old",
		"what should I cook tonight with chicken and rice?",
		"how long do I boil an egg?",
		"write a short poem about autumn leaves",
		"tell me a bedtime story about a dragon",
		"what is the meaning of life?",
		"I feel a bit sad today",
		"which is the tallest mountain in Africa?",
		"how do vaccines work?",
		"what is 17 times 23?",
		"solve x squared minus 5x plus 6 equals zero",
		"what is the difference between affect and effect?",
		"how do you say good morning in Japanese?",
		"recommend a good science fiction novel",
		"who won the world cup in 1998?",
		"what are the rules of chess?",
		"how can I fall asleep faster?",
		"give me three ideas for a birthday present for my mother",
		"what is a good name for a black cat?",
		"how do I get a wine stain out of a carpet?",
		"why do cats purr?",
		"how do plants turn light into energy?",
		"when did the Roman Empire fall?",
		"what is the plot of Romeo and Juliet?",
		"is it better to run in the morning or in the evening?",
		"how many calories does a banana have?",
		"how do I tie a tie?",
		"what does a neutron star look like?",
		"explain recursion in simple words",
		"how does a jet engine work?",
		"which guitar should a beginner buy?",
		"what is inflation and why does it happen?",
		"pretend that you are a pirate and greet me",
	}
}
