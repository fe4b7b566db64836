"""The words by which a sentence is known as a rule, language by language.

They are as strict as the English ones: a word of every other sentence is none, and one that another language uses for
something else stands with what tells them apart (German ``nie`` is Polish for *not*, Italian ``mai`` German for *May*).

The entries are alternatives of a regular expression. Each begins with a letter, with a choice of letters, or with ``^``
for the begin of the sentence; its repetitions are bounded or end with the word, so that a search takes time in
proportion to the text. They are written in lower case and with their accents, which a text may lack; an accented letter
in brackets is only itself.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Language(NamedTuple):
    """Words of always and never, ``standing``, and words of must and must not, ``once``.

    ``labels`` stand before a colon, as in *Rule: …*, and are standing; ``endings`` end words of two letters more, and
    are of the other kind.
    """

    name: str
    standing: str
    once: str
    labels: str = ""
    endings: str = ""


LATIN: Final = (
    Language(
        "English",
        "always|never|from now on|under no circumstances|at all times|no matter what|in every|whenever|remember",
        "must|mustn['’]t|don['’]t|do not|should not|shouldn['’]t|may not|cannot|can['’]t|only|required?|forbidden"
        "|not allowed|make sure|ensure|prefer|avoid|without|instead of",
        "rule|constraint|important",
    ),
    Language(
        "German",
        r"immer(?<!noch immer)(?<!wie immer)(?! (?:noch|wieder|mehr|weniger|öfter|häufiger|besser|schlechter"
        r"|langsamer|schneller)\b)|stets|niemals|nie (?:wieder|mehr|ohne|direkt|den|die|das|dem|der|ein|eine|einen"
        r"|im|auf|mit|etwas|von|zu)|(?:bitte|du|sie|darfst|darf|sollst|soll|sollte|solltest|wird|werden|mir|uns|hier"
        r"|dort) nie|^nie \w{3,}en(?=\W*$)|jedes mal|(?:in|bei|vor|nach) jede[mr]|egal was|ganz gleich|ab (?:jetzt"
        r"|sofort|nun)|von (?:jetzt|nun) an|künftig|zukünftig|in zukunft|unter (?:gar )?keinen umständen"
        r"|auf (?:gar )?keinen fall|keinesfalls|merke? dir|denke? (?:immer )?da?ran|vergiss nicht|nicht vergessen",
        r"musst?|müsst|müssen|(?:darf|darfst|dürfen|dürft|soll|sollst|sollen|sollte|solltest"
        r"|sollten) (?:\w+ ){0,3}?(?:nicht|nichts|kein\w*)|nicht erlaubt|verboten|untersagt|unzulässig|nur"
        r"|ausschliesslich|ohne|(?:an)?statt \w+|anstelle|vermeide[nt]?|bevorzug\w+|stelle? sicher|sicherstellen"
        r"|achte[nt]? (?:bitte )?(?:dar)?auf|sorge?t? dafür|erforderlich|zwingend|bitte (?:\w+ ){0,3}?(?:nicht"
        r"|nichts|kein\w*)|^(?:nicht|nichts) .{0,80}?\w{2,}en(?=\W*$)|^kein\w* (?!ahnung|problem|sorge|eile|panik"
        r"|frage|idee|zeit)\w+|^(?:fass|änder|lösch|rühr|benutz|verwend|nutz|nimm|schreib|push|commit|installier|füg"
        r"|führ|start|entfern|überschreib|verschieb|erstell|ruf|greif|lass|mach|frag|sag|antwort|gib|erwähn|übersetz"
        r"|formatier)\w{0,3} .{0,80}?\b(?:nicht|nichts|kein\w*)",
        "regel|vorgabe|bedingung|wichtig",
    ),
    Language(
        "French",
        r"toujours(?<!comme toujours)(?<!est toujours)(?<!sont toujours)(?! pas\b)|jamais(?<!si jamais)|en aucun cas"
        r"|sous aucun prétexte|désormais|dorénavant|à partir de maintenant|à l['’]avenir|quoi qu['’]il arrive"
        r"|à chaque fois|chaque fois qu\w*|dans tous les cas|souviens-toi|souvenez-vous|rappelle-toi|rappelez-vous"
        r"|n['’]oublie[zr]? (?:pas|jamais)|retiens|retenez",
        r"dois|doit|doivent|devons|devez|il faut|faut pas|obligatoire\w*|impérati(?:f|ve|vement)|interdit\w*"
        r"|pas le droit|pas (?:autorisée?s?|permise?s?)|(?:tu|vous) ne (?:peux|pouvez)|seulement|uniquement"
        r"|exclusivement|sans(?![ -]serif)|au lieu d\w*|plutôt que|évite[rz]?|assure-toi|assurez-vous|veille[rz]? à"
        r"|préfère[rz]?|préférer|prière de|ne (?:pas|jamais|rien|plus) \w+|^n(?:e |['’]).{0,60}? (?:pas|jamais|rien"
        r"|aucune?|plus)",
        "règle|consigne|contrainte|important",
    ),
    Language(
        "Spanish",
        r"siempre(?<!como siempre)(?<!para siempre)|nunca|jamás|bajo ning(?:ún|una) \w+|en ningún caso"
        r"|de ninguna manera|en adelante|a partir de ahora|en todo momento|pase lo que pase|cada vez que|en cada"
        r"|recuerd[ae]|acuérdate|no (?:te |se )?olvid(?:es?|ar)|tenga? en cuenta",
        r"deb(?:e|es|en|emos|erás?|erán)|tien(?:e|es|en) que|hay que|obligatori[oa]s?|imprescindible|es necesario"
        r"|prohibid[oa]s?|no está[ns]? permitid[oa]s?|no se (?:permiten?|puede|deben?|toca|usa)|no puedes|solo|sólo"
        r"|solamente|únicamente|exclusivamente|sin (?:\w+[aei]r(?:l[aoe]s?|me|te|se)?|\w+[oae]s|que|el|la|un|mi|tu"
        r"|su|ning\w+|permiso)|evit(?:a|e|ar|en)|en (?:lugar|vez) de|asegúr(?:ate|ese|ense|a|ar)(?: de)?(?: que)?"
        r"|procur[ae]|prefier[aeo]|preferir|preferiblemente|no (?:l[aoe]s? |me |te |se )?(?:hag|toqu|us|utilic|cambi"
        r"|modifiqu|borr|elimin|añad|agregu|cre|escrib|ejecut|instal|enví|mand|incluy|muev|romp|pong|vuelv|respond"
        r"|contest|pregunt|sub|habl|traduzc|publiqu|import|llam|abr)(?:as|es|a|e|an|en|áis|éis)",
        "regla|norma|restricción|importante",
    ),
    Language(
        "Portuguese",
        r"sempre(?<!como sempre)(?<!para sempre)|em (?:hipótese|circunstância) (?:alguma|nenhuma)|(?:em"
        r"|sob) (?:nenhuma|hipótese) \w+|de (?:forma|maneira|jeito) (?:alguma|nenhuma|nenhum)|de agora em diante"
        r"|daqui (?:em|para|pra) (?:diante|frente)|a partir de agora|doravante|em todos os casos"
        r"|aconteça o que acontecer|toda vez que|em cada|lembre(?:-se|m-se)?|lembra-te|não (?:te |se )?esqueç(?:a|as"
        r"|am)",
        "dev(?:e|es|em|emos|erá|erão)|t(?:em|êm|ens) (?:que|de)|obrigatóri[oa]s?|proibid[oa]s?|não (?:é|está"
        "|são) permitid[oa]s?|não (?:pode[ms]?|podes|se pode|se deve)|somente|apenas|s[ó]|sem|ao invés de|em (?:vez"
        "|lugar) de|evit(?:a|e|ar|em)|certifique-se|certifica-te|garanta|assegure|prefir[ao]|dê preferência"
        "|não (?:faç|us|utiliz|alter|mex|toqu|apagu|mud|modifiqu|remov|exclu|adicion|cri|escrev|execut|instal|envi"
        "|mand|inclu|mov|quebr|ponh|respond|pergunt|suba|fal|traduz|publiqu|import|cham|abr|commit)(?:as|es|a|e|am"
        "|em|ais|eis)?",
        "regra|restrição|importante",
    ),
    Language(
        "Italian",
        r"sempre(?<!come sempre)(?<!per sempre)|non .{0,60}?\bmai|^mai (?:\w+ )?\w+[aei]re?(?:l[oaie]|mi|ci|ne)?"
        r"|mai più|in nessun caso|per nessun(?:a ragione| motivo)|in nessuna circostanza|d['’]ora in (?:poi|avanti)"
        r"|da (?:ora|adesso) in (?:poi|avanti)|in ogni (?:caso|momento)|ogni volta|qualunque cosa (?:accada|succeda)"
        r"|ricorda(?:ti|te|tevi)?|non dimenticar\w+|tieni (?:a mente|presente)",
        r"dev(?:e|i|ono)|dovete|bisogna|obbligatori[oa]|vietat[oaie]|proibit[oaie]|non (?:è|sono) (?:consentit"
        r"|permess|ammess)[oaie]|non (?:puoi|si può|potete)|solo|soltanto|solamente|esclusivamente|unicamente|senza"
        r"|invece di|al posto d\w+|anziché|evita(?:re|te)?|assicura(?:ti|tevi)|accertati|fa(?:i|te) in modo"
        r"|preferisc[io]|preferibilmente|non \w{2,}[aei]r(?:e|l[oaie]|mi|ci|ne)",
        "regola|vincolo|importante",
    ),
    Language(
        "Dutch",
        r"altijd(?<!nog altijd)(?<!zoals altijd)|nooit|onder geen (?:enkele? )?(?:beding|voorwaarde|omstandighe\w+)"
        r"|in geen geval|vanaf nu|voortaan|te allen tijde|wat er ook gebeurt|telkens|elke keer|onthoud|vergeet niet"
        r"|denk eraan",
        r"moet|moeten|(?:mag|mogen) (?:\w+ ){0,3}?(?:niet|geen|niets|alleen)|niet toegestaan|verboden|alleen"
        r"|uitsluitend|zonder|in plaats van|vermijd\w*|voorkom|zorg (?:er ?voor|dat|ervoor)|bij voorkeur"
        r"|geef de voorkeur|verplicht|^(?:niet|niets) .{0,80}?\w{2,}en(?=\W*$)|^geen (?!idee|probleem|zorgen|haast"
        r"|paniek|vraag|tijd|dank)\w+|(?:alsjeblieft|svp|graag) (?:niet|geen)|^(?:raak|gebruik|verander|wijzig"
        r"|verwijder|maak|doe|schrijf|voeg|push|commit|installeer|voer|pas|zet|laat|vraag|noem|vertaal|zeg|antwoord"
        r"|stuur|open|verplaats|hernoem) .{0,80}?\b(?:niet|geen|niets)",
        "regel|voorwaarde|belangrijk",
    ),
    Language(
        "Polish",
        "zawsze(?<!na zawsze)|nigdy|od teraz|odtąd|pod żadnym pozorem|w żadnym (?:wypadku|razie)|za każdym razem"
        "|bez względu na|pamiętaj(?:cie)?|zapamiętaj|nie zapominaj(?:cie)?|nie zapomnij",
        r"musi|musisz|musimy|musicie|muszą|należy (?:\w+ ){0,2}?\w+[cć]|trzeba|tylko|jedynie|wyłącznie|bez|zamiast"
        r"|unikaj(?:cie)?|zabronion\w+|zakazan\w+|wymagan\w+|koniecznie|upewnij się|zadbaj|preferuj|nie (?:wolno"
        r"|można|powinien|powinna|powinno|powinieneś|powinny|rób|róbcie|pisz|mów|twórz|rusz|zmień|usuń|dotknij)"
        r"|nie (?!tutaj|dzisiaj|wczoraj)\w{2,}(?:aj|uj|ij|yj)(?:cie)?",
        "zasada|reguła|warunek|ważne",
    ),
    Language(
        "Turkish",
        "her zaman|daima|asla|hiçbir (?:zaman|koşulda|şartta|şekilde|durumda)|bundan (?:sonra|böyle)|her seferinde"
        "|ne olursa olsun|unutma(?:yın|yınız)?|hatırla(?:yın)?|aklında tut",
        r"zorunlu\w*|mutlaka|gerekir|gereklidir|yasak\w*|izin (?:yok|verilmez|verme)|sadece|yalnızca|olmadan|yerine"
        r"|tercih et\w*|kaçın(?:ın)?|emin ol\w*|dikkat et\w*|(?:dokunma|kullanma|değiştirme|silme|yapma|ekleme|yazma"
        r"|gönderme|kaldırma|oluşturma|çalıştırma|kurma|yükleme|sorma|açma|kapatma|bozma|taşıma|elleme|verme|söyleme"
        r"|pushlama|commitleme)(?=\W*$)",
        "kural|önemli",
        "mal[ı](?:s[ı]n(?:[ı]z)?|y[ı]z|d[ı]r)?|meli(?:sin|siniz|yiz|dir)|madan|meden|mayın(?:ız)?|meyin(?:iz)?",
    ),
)

CYRILLIC: Final = (
    Language(
        "Russian",
        r"всегда(?<!как всегда)|никогда|ни в коем случае|ни при каких \w+|отныне|впредь|с этого момента|каждый раз"
        r"|во всех случаях|что бы ни \w+|запомни(?:те)?|помни(?:те)?|не забывай(?:те)?|не забудь(?:те)?",
        r"долж(?:ен|на|но|ны)|обязан[аоы]?|обязательно|нельзя|запрещ\w+|недопустимо|не разрешается"
        r"|только(?<!не только)(?! что\b)|лишь|исключительно|без|вместо|избегай(?:те)?|убедись|убедитесь"
        r"|проследи(?:те)?|предпочит\w+|предпочтительно|необходимо|требуется|не (?:надо|следует|пиши|говори|удали"
        r"|вноси|переводи|ставь|пушь|пуши|коммить|лезь|проси|запусти|выводи|делай)(?:те)?|не \w{2,}(?:ай|яй|уй"
        r"|юй)(?:те)?",
        "правило|условие|важно",
    ),
)

DEVANAGARI: Final = (
    Language(
        "Hindi",
        "हमेशा|सदा|सदैव|कभी भी|कभी (?:नहीं|न|ना|मत)|किसी भी (?:हालत|परिस्थिति|स्थिति|सूरत)|अब से|आगे से|आज से"
        "|हर बार|जब भी|याद रख(?:ें|ना|ो|िए|िएगा)?|ध्यान रख(?:ें|ना|ो|िए|िएगा)?|मत भूल(?:ना|ें|ो|िए)|भूलना मत"
        "|भूलें नहीं",
        "मत|(?:न|ना) (?:करें|करो|करना|छुएँ|छुएं|बदलें|हटाएँ|हटाएं|जोड़ें|लिखें|भेजें|चलाएँ|चलाएं)|नहीं (?:करना|करें"
        "|होना|बदलना|छूना|हटाना|जोड़ना|लिखना)|केवल|सिर्फ़|सिर्फ|बिना|(?:के|की) बजाय|की जगह|अनिवार्य|अवश्य|आवश्यक"
        "|मना है|वर्जित|निषिद्ध|प्रतिबंधित|अनुमति नहीं|सुनिश्चित कर(?:ें|ना|ो|िए)?|बचें|परहेज|प्राथमिकता",
        "महत्वपूर्ण|नियम|ज़रूरी|जरूरी|शर्त",
        "न[ाीे] (?:ही )?(?:चाहिए|होगा|होगी|पड़ेगा)",
    ),
)

ARABIC: Final = (
    Language(
        "Arabic",
        r"دائما|دوما|أبدا|إطلاقا|تحت أي ظرف|بأي حال|مهما (?:حدث|كان)|من الآن فصاعدا|ابتداء من الآن|في كل مرة|كلما"
        r"|تذكر|لا تنس\w?",
        r"يجب|لا بد|لازم|لا (?:يجوز|يمكنك|يسمح|ينبغي|يجب)|ممنوع|محظور|غير مسموح|يمنع|فقط|حصرا|تأكد|احرص|تجنب|بدون"
        r"|من دون|دون \w+|بدلا من|بدل|يفضل|فضل|إياك|إلزامي|مطلوب|لا (?!توجد|تعمل|تزال|تظهر|تكفي|تحتوي|تحتاج|تستطيع"
        r"|تتوفر|تدعم|تقلق)ت\w{2,}",
        "مهم|قاعدة|شرط|هام",
    ),
)

UNSPACED: Final = (
    Language(
        "Chinese",
        "总是|總是|始终|始終|永远|永遠|[绝决絕決]不|绝对不|絕對不|千万|千萬|切勿|从不|從不|(?:无论|無論)如何"
        "|任何情[况況]下|[从從]现?現?在(?:起|开始|開始)|从今以后|從今以後|今后|今後(?:請|都|不|要|必|一律)"
        "|以[后後](?:都|请|請|要|不要|不得)|每次.{0,16}?(?:都要|必[须須]|请|請|务必|務必)|一律|[记記]住"
        "|[记記]得(?<!我[记記]得)|[别別]忘|重要[:：]|[规規][则則][:：]|要求[:：]",
        r"必[须須]|[务務]必|不要(?![なにのでとはだも])|[请請]勿|勿(?=[动動改删刪碰用])"
        r"|不得(?<![舍捨恨巴来來]不得)(?!不|已)|禁止|[严嚴]禁|不[许許准]|不允[许許]|不可以(?<!我不可以)"
        r"|不能(?<!我不能)|不[应應](?:该|該|当|當)?(?!答)"
        r"|[别別](?<![^，,；;：:\s请請你就也都][别別])(?![的人处處名墅の途に々件紙说說])|只(?:能|用|在|改|使用|允"
        r"|返回|[输輸]出|回答|准|[许許])|[仅僅](?<!不[仅僅])|[确確]保(?![するしさでのがを、中])|保[证證]|避免"
        r"|[优優]先|尽量|盡量|而不是|代替|不带|不帶|不[经經](?!常)|未[经經]",
    ),
    Language(
        "Japanese",
        "常に(?<![非異正通日平尋経]常に)|いつも(?!ありがと|お世話|の)|必ず(?!しも)|絶対に|決して|けっして|二度と"
        "|今後は|これからは|以後は|(?:どんな|いかなる|如何なる)(?:場合|状況|とき|時)|何があっても|毎回(?!エラー"
        "|失敗|落ち|同じ)|覚えておいて|覚えておく|忘れないで|忘れずに|ルール[:：]|規則[:：]|条件[:：]",
        r"なければ(?:なら|いけ)|べきでは?ない|ないでください|ないで下さい|ないでくれ|ないで(?=\W*$)|(?:ては|では"
        r"|ちゃ)(?:いけ|なら|なり|だめ|ダメ|駄目)|厳禁|不可(?=で|と|\W|$)|のみ|だけ(?!ど|れど|あって|でなく"
        r"|ではなく)|以外[はに]|避けて|避ける|ずに(?<!はずに)|なしで|無しで|抜きで|代わりに|ではなく|じゃなく|優先"
        r"|必須|徹底|ようにして(?:ください|下さい)|(?:する|ない)こと(?=\W*$)",
    ),
    Language(
        "Korean",
        r"항상|언제나|늘(?<!\w늘)(?= )|절대로?(?! ?(?:경로|값|좌표|위치|주소|커서|시간|참조|크기|ur[il]))|결코"
        r"|앞으로[는도]|이제부터|지금부터|어떤 (?:경우|상황)에(?:서)?도|무슨 일이 있어도|매번|반드시|기억(?:해"
        r"|하세요|하십시오)|잊지 ?[마말]|중요[:：]|규칙[:：]|조건[:：]",
        r"야(?<=[가-힣]야) ?(?:한다|합니다|해요?|하고|하며|함|됩니다|된다|돼요?)(?!\w)|지 ?(?:마(?:세요|십시오|라"
        r"|시고)?|말(?:아|고|것| 것|자|아라|아줘)?)(?!\w)|면 ?안 ?[돼됩된되]|금지|불가(?![능피])|(?:허용"
        r"|허락)(?:하지|되지| 없이)|만 (?:사용|써|쓰|수정|변경|답|반환|출력|실행)|(?:로|에|에서)만(?!\w)|오직|오로지"
        r"|필수|꼭(?<!\w꼭)(?!\w)|없이|대신|피하(?:세요|십시오|고)|피해 ?주|우선|도록 (?:하세요|해 ?주|하십시오"
        r"|주의)",
    ),
)
