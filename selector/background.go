package selector

import "strings"

// Background is a built-in list of requests that no particular tool is for: small talk, general
// knowledge, reactions to an answer. A tool's cosines with them say what "unrelated" looks like for that tool under an embedder; a
// match is measured against it. The list is fixed: changing it changes every threshold in match units.
func Background() []string { return strings.Split(strings.TrimSpace(background), "\n") }

const background = `
hello
hi there, how are you today?
good morning
thanks, that was very helpful
ok
yes, please
no, that is not what I meant
could you explain that again in simpler words?
tell me a joke
what is the capital of Portugal?
who wrote Don Quixote?
why is the sky blue?
what is 17 times 23?
how many legs does a spider have?
tell me a fun fact about octopuses
what does the word serendipity mean?
write a short poem about autumn
give me three tips for sleeping better
what is the difference between a virus and a bacterium?
can you recommend a good novel?
I feel a bit tired this evening
what should I cook with leftover rice?
how do vaccines work?
who won the world cup in 1998?
explain the theory of relativity to a child
what is your name?
are you a human or a machine?
what can you do?
I do not agree with you
that is interesting, go on
please continue
make it shorter
say it more politely
translate good night into Italian
what rhymes with orange?
is a tomato a fruit or a vegetable?
how tall is Mount Everest?
when did the Roman empire fall?
what are the planets of the solar system?
give me a name for my new cat
how do I stay motivated?
what is the meaning of life?
summarise what we talked about
let us play a guessing game
which came first, the chicken or the egg?
how long should I boil an egg?
what is a haiku?
describe the taste of mango
what is the square root of 144?
how far away is the moon?
I am bored, entertain me
do you dream?
what is love?
how does a bicycle stay upright?
is it better to rent or to own a home?
what makes a good friend?
who painted the Mona Lisa?
what language do they speak in Brazil?
how do I say sorry to my sister?
tell me a bedtime story
why do cats purr?
can fish sleep?
what is the largest animal on earth?
never mind
`

// stopWord reports whether the word (lower-case) carries no content of its own in a request.
func stopWord(word string) bool {
	if len(word) > 9 {
		return false
	}
	switch word {
	case "a", "an", "the", "and", "or", "but", "if", "then", "than", "so", "as", "at", "by", "for", "from", "in", "into", "of", "on", "to", "with", "about", "over", "under", "up", "down", "out", "off",
		"i", "me", "my", "mine", "we", "us", "our", "you", "your", "he", "him", "his", "she", "her", "it", "its", "they", "them", "their", "this", "that", "these", "those", "there", "here",
		"am", "is", "are", "was", "were", "be", "been", "being", "do", "does", "did", "doe", "done", "have", "has", "had", "ha", "having", "can", "could", "will", "would", "shall", "should", "may", "might", "must",
		"what", "which", "who", "whom", "when", "where", "why", "how", "not", "no", "yes", "ok", "please", "thank", "thanks", "just", "also", "now", "too", "very", "some", "any", "all", "each", "both", "more", "most", "other", "such", "only", "own", "same",
		"let", "want", "need", "like", "help", "know", "tell", "give", "get", "make", "go", "s", "t", "m", "re", "ve", "ll", "d", "don", "wa", "thi", "hi", "hello", "hey", "one", "thing", "way", "able", "sure", "really", "still", "again":
		return true
	}
	return false
}
